//===- LlamaProgram.cpp - a Llama with its gradients, for tests of layouts ----===//
#include "Sharding/LlamaProgram.h"

namespace stg::test {

namespace {

constexpr const char *kX = "bf16[B, S, D]";

/// Ops of one body, one after the other.
class Text {
public:
  void line(const std::string &text) { text_ += "  " + text + "\n"; }
  /// `%name : type = op part … kernel … scope …`
  void op(const std::string &name, const std::string &type, const std::string &op, const std::string &part,
          const std::string &scope) {
    line("%" + name + " : " + type + " = " + op + (part.empty() ? "" : " part " + part) + " kernel " +
         std::to_string(kernel_++) + (scope.empty() ? "" : " scope " + scope));
  }
  void forward(const std::string &name, const std::string &type, const std::string &text, const std::string &scope) {
    op(name, type, text, "", scope);
  }
  void backward(const std::string &name, const std::string &type, const std::string &text, const std::string &scope) {
    op(name, type, text, "input-grad", scope);
  }
  void weightGrad(const std::string &slot, const std::string &type, const std::string &text, const std::string &scope) {
    op(slot + ".grad", type, text, "weight-grad", scope);
    line("accumulate " + slot + "(%" + slot + ".grad) part weight-grad kernel " + std::to_string(kernel_++));
  }
  void weight(const std::string &name, const std::string &type) {
    line("%" + name + " : " + type + " = weight " + name + " kernel 0");
  }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
  int kernel_ = 1;
};

void norm(Text &to, const std::string &name, const std::string &x) {
  to.forward(name + ".xx", kX, "mul(%" + x + ", %" + x + ")", name);
  to.forward(name + ".sum", "bf16[B, S]", "reduce(%" + name + ".xx) sum(D)", name);
  to.forward(name + ".c", "bf16[]", "constant 0.125", name);
  to.forward(name + ".mean", "bf16[B, S]", "mul(%" + name + ".sum, %" + name + ".c)", name);
  to.forward(name + ".eps", "bf16[]", "constant 0.001", name);
  to.forward(name + ".var", "bf16[B, S]", "add(%" + name + ".mean, %" + name + ".eps)", name);
  to.forward(name + ".r", "bf16[B, S]", "rsqrt(%" + name + ".var)", name);
  to.forward(name, kX, "mul(%" + x + ", %" + name + ".r, %" + name + ".g)", name);
}

/// The gradient of a norm with regard to x: two summands, `dx` names them.
void normBackward(Text &to, const std::string &name, const std::string &x, const std::string &dn) {
  std::string g = "%" + name + ".g", r = "%" + name + ".r";
  to.weightGrad(name + ".g", "f32[D]", "contract(%" + dn + ", %" + x + ", " + r + ") sum(B, S)", name);
  to.backward(name + ".dr", "bf16[B, S]", "contract(%" + dn + ", %" + x + ", " + g + ") sum(D)", name);
  to.backward(name + ".minushalf", "bf16[]", "constant -0.5", name);
  to.backward(name + ".dvar", "bf16[B, S]",
              "mul(%" + name + ".dr, " + r + ", " + r + ", " + r + ", %" + name + ".minushalf)", name);
  to.backward(name + ".c2", "bf16[]", "constant 0.25", name);
  to.backward(name + ".dsum", "bf16[B, S]", "mul(%" + name + ".dvar, %" + name + ".c2)", name);
  to.backward(name + ".dx1", kX, "mul(%" + x + ", %" + name + ".dsum)", name);
  to.backward(name + ".dx2", kX, "mul(%" + dn + ", " + r + ", " + g + ")", name);
}

constexpr const char *kQ = "bf16[B, S, KV, R, Dh]";
constexpr const char *kK = "bf16[B, S, KV, Dh]";

void attention(Text &to, const std::string &n) {
  to.forward("attn.q", kQ, "contract(%" + n + ", %attn.wq) sum(D)", "attn");
  to.forward("attn.k", kK, "contract(%" + n + ", %attn.wk) sum(D)", "attn");
  to.forward("attn.v", kK, "contract(%" + n + ", %attn.wv) sum(D)", "attn");
  to.line("%attn.o : bf16[B, S, KV, R, Dh], %attn.lse : f32[B, S, KV, R] = call attend(%attn.q{b, s, g, r, c}, "
          "%attn.k{b, t, g, c}, %attn.v{b, t, g, d}) -> (bf16{b, s, g, r, d}, f32{b, s, g, r}) factors (b is [B] map, "
          "s is [S] map, g is [KV] map, r is [R] map, c is [Dh] whole, t is [S] stream(\"gather\"), d is [Dh] map) "
          "flops [2*B*S*S*KV*R*Dh] kernel 90 scope attn.attend");
  to.forward("attn.y", kX, "contract(%attn.o, %attn.wo) sum(KV, R, Dh)", "attn");
}

/// From `dy` to three summands of the gradient of n: attn.dn_q, attn.dn_k, attn.dn_v.
void attentionBackward(Text &to, const std::string &n, const std::string &dy) {
  to.backward("attn.do", kQ, "contract(%" + dy + ", %attn.wo) sum(D)", "attn");
  to.weightGrad("attn.wo", "f32[KV, R, Dh, D]", "contract(%attn.o, %" + dy + ") sum(B, S)", "attn");
  to.line(
      "%attn.dq : bf16[B, S, KV, R, Dh], %attn.dk : bf16[B, S, KV, Dh] at attn, %attn.dv : bf16[B, S, KV, Dh] at "
      "attn = call attend_bwd(%attn.q{b, s, g, r, c}, %attn.k{b, t, g, c}, %attn.v{b, t, g, d}, %attn.o{b, s, g, r, "
      "d}, %attn.lse{b, s, g, r}, %attn.do{b, s, g, r, d}) -> (bf16{b, s, g, r, c}, bf16{b, t, g, c}, bf16{b, t, g, "
      "d}) factors (b is [B] map, s is [S] sum, g is [KV] map, r is [R] sum, c is [Dh] whole, t is [S] "
      "stream(\"gather\"), d is [Dh] whole) flops [8*B*S*S*KV*R*Dh] part input-grad kernel 91 scope attn.attend");
  for (const char *name : {"q", "k", "v"}) {
    std::string w = std::string("attn.w") + name, d = std::string("attn.d") + name;
    bool isQuery = name[0] == 'q';
    to.weightGrad(w, isQuery ? "f32[D, KV, R, Dh]" : "f32[D, KV, Dh]", "contract(%" + n + ", %" + d + ") sum(B, S)",
                  "attn");
    to.backward(std::string("attn.dn_") + name, kX,
                "contract(%" + d + ", %" + w + ") sum(KV, " + (isQuery ? "R, " : "") + "Dh)", "attn");
  }
}

void ffn(Text &to, const std::string &n) {
  to.forward("ffn.gate", "bf16[B, S, F]", "contract(%" + n + ", %ffn.wg) sum(D)", "ffn");
  to.forward("ffn.up", "bf16[B, S, F]", "contract(%" + n + ", %ffn.wu) sum(D)", "ffn");
  to.forward("ffn.act", "bf16[B, S, F]", "silu(%ffn.gate)", "ffn");
  to.forward("ffn.h", "bf16[B, S, F]", "mul(%ffn.act, %ffn.up)", "ffn");
  to.forward("ffn.z", kX, "contract(%ffn.h, %ffn.wd) sum(F)", "ffn");
}

/// Two summands of the gradient of n: ffn.dn_g, ffn.dn_u.
void ffnBackward(Text &to, const std::string &n, const std::string &dz) {
  to.backward("ffn.dh", "bf16[B, S, F]", "contract(%" + dz + ", %ffn.wd) sum(D)", "ffn");
  to.weightGrad("ffn.wd", "f32[F, D]", "contract(%ffn.h, %" + dz + ") sum(B, S)", "ffn");
  to.backward("ffn.dact", "bf16[B, S, F]", "mul(%ffn.dh, %ffn.up)", "ffn");
  to.backward("ffn.dgate", "bf16[B, S, F]", "silu_grad(%ffn.dact, %ffn.gate)", "ffn");
  to.backward("ffn.dup", "bf16[B, S, F]", "mul(%ffn.dh, %ffn.act)", "ffn");
  to.weightGrad("ffn.wg", "f32[D, F]", "contract(%" + n + ", %ffn.dgate) sum(B, S)", "ffn");
  to.weightGrad("ffn.wu", "f32[D, F]", "contract(%" + n + ", %ffn.dup) sum(B, S)", "ffn");
  to.backward("ffn.dn_g", kX, "contract(%ffn.dgate, %ffn.wg) sum(F)", "ffn");
  to.backward("ffn.dn_u", kX, "contract(%ffn.dup, %ffn.wu) sum(F)", "ffn");
}

std::string block(bool parallel) {
  Text to;
  to.line("input x : bf16[B, S, D]");
  to.line("input dx2 : bf16[B, S, D] cotangent of 0");
  to.line("weight norm1.g : bf16[D] trained");
  to.line("weight attn.wq : bf16[D, KV, R, Dh] trained");
  to.line("weight attn.wk : bf16[D, KV, Dh] trained");
  to.line("weight attn.wv : bf16[D, KV, Dh] trained");
  to.line("weight attn.wo : bf16[KV, R, Dh, D] trained");
  if (!parallel)
    to.line("weight norm2.g : bf16[D] trained");
  to.line("weight ffn.wg : bf16[D, F] trained");
  to.line("weight ffn.wu : bf16[D, F] trained");
  to.line("weight ffn.wd : bf16[F, D] trained");
  to.forward("x", kX, "input x", "");
  to.weight("norm1.g", "bf16[D]");
  to.weight("attn.wq", "bf16[D, KV, R, Dh]");
  to.weight("attn.wk", "bf16[D, KV, Dh]");
  to.weight("attn.wv", "bf16[D, KV, Dh]");
  to.weight("attn.wo", "bf16[KV, R, Dh, D]");
  if (!parallel)
    to.weight("norm2.g", "bf16[D]");
  to.weight("ffn.wg", "bf16[D, F]");
  to.weight("ffn.wu", "bf16[D, F]");
  to.weight("ffn.wd", "bf16[F, D]");
  norm(to, "norm1", "x");
  attention(to, "norm1");
  to.forward("x1", kX, "add(%x, %attn.y)", "");
  std::string second = parallel ? "norm1" : "norm2";
  if (!parallel)
    norm(to, "norm2", "x1");
  ffn(to, second);
  to.forward("x2", kX, "add(%x1, %ffn.z)", "");

  to.backward("dx2", kX, "input dx2", "");
  ffnBackward(to, second, "dx2");
  if (parallel) {
    attentionBackward(to, "norm1", "dx2");
    to.backward("norm1.dn", kX, "add(%ffn.dn_g, %ffn.dn_u, %attn.dn_q, %attn.dn_k, %attn.dn_v)", "norm1");
    normBackward(to, "norm1", "x", "norm1.dn");
    to.backward("dx", kX, "add(%norm1.dx1, %norm1.dx2, %dx2)", "");
  } else {
    to.backward("norm2.dn", kX, "add(%ffn.dn_g, %ffn.dn_u)", "norm2");
    normBackward(to, "norm2", "x1", "norm2.dn");
    to.backward("dx1.part", kX, "add(%norm2.dx1, %norm2.dx2)", "");
    to.backward("dx1", kX, "add(%dx1.part, %dx2)", "");
    attentionBackward(to, "norm1", "dx1");
    to.backward("norm1.dn.part", kX, "add(%attn.dn_q, %attn.dn_k)", "norm1");
    to.backward("norm1.dn", kX, "add(%norm1.dn.part, %attn.dn_v)", "norm1");
    normBackward(to, "norm1", "x", "norm1.dn");
    to.backward("dx.part", kX, "add(%norm1.dx1, %norm1.dx2)", "");
    to.backward("dx", kX, "add(%dx.part, %dx1)", "");
  }
  to.line("output x = %x2");
  to.line("output dx = %dx cotangent of 0");
  return "body block {\n" + to.take() + "}\n";
}

std::string first() {
  Text to;
  to.line("input ids : i32[B, S]");
  to.line("input dx : bf16[B, S, D] cotangent of 0");
  to.line("weight wte : bf16[V, D] shared trained");
  to.forward("ids", "i32[B, S]", "input ids", "");
  to.weight("wte", "bf16[V, D]");
  to.forward("x", kX, "gather(%wte, %ids) V", "");
  to.backward("dx", kX, "input dx", "");
  to.weightGrad("wte", "f32[V, D]", "scatter(%dx, %ids) into [V] replacing (B, S)", "");
  to.line("output x = %x");
  return "body first {\n" + to.take() + "}\n";
}

std::string last() {
  Text to;
  to.line("input x : bf16[B, S, D]");
  to.line("input target : i32[B, S]");
  to.line("weight norm.g : bf16[D] trained");
  to.line("weight head : bf16[V, D] shared trained");
  to.forward("x", kX, "input x", "");
  to.forward("target", "i32[B, S]", "input target", "");
  to.weight("norm.g", "bf16[D]");
  to.weight("head", "bf16[V, D]");
  norm(to, "norm", "x");
  to.forward("z", "f32[B, S, V]", "contract(%norm, %head) sum(D)", "");
  to.forward("xent.m", "f32[B, S]", "reduce(%z) max(V)", "xent");
  to.forward("xent.zm", "f32[B, S, V]", "sub(%z, %xent.m)", "xent");
  to.forward("xent.e", "f32[B, S, V]", "exp(%xent.zm)", "xent");
  to.forward("xent.se", "f32[B, S]", "reduce(%xent.e) sum(V)", "xent");
  to.forward("xent.lg", "f32[B, S]", "log(%xent.se)", "xent");
  to.forward("xent.lm", "f32[B, S]", "add(%xent.lg, %xent.m)", "xent");
  to.forward("xent.zt", "f32[B, S]", "gather(%z, %target) V", "xent");
  to.forward("xent.l", "f32[B, S]", "sub(%xent.lm, %xent.zt)", "xent");
  to.forward("total", "f32[]", "reduce(%xent.l) sum(B, S)", "");
  to.forward("c", "f32[]", "constant 0.015625", "");
  to.forward("loss", "f32[]", "mul(%total, %c)", "");
  to.backward("seed", "f32[]", "constant 1", "");
  to.backward("dtotal", "f32[]", "mul(%seed, %c)", "");
  to.backward("xent.dl", "f32[B, S]", "broadcast(%dtotal) to [B, S]", "xent");
  to.backward("xent.dse", "f32[B, S]", "div(%xent.dl, %xent.se)", "xent");
  to.backward("xent.de", "f32[B, S, V]", "mul(%xent.dse, %xent.e)", "xent");
  to.backward("xent.dzt", "f32[B, S]", "neg(%xent.dl)", "xent");
  to.backward("xent.dpick", "f32[B, S, V]", "scatter(%xent.dzt, %target) into [V]", "xent");
  to.backward("dz", "f32[B, S, V]", "add(%xent.de, %xent.dpick)", "");
  to.backward("norm.dn", kX, "contract(%dz, %head) sum(V)", "norm");
  to.weightGrad("head", "f32[V, D]", "contract(%dz, %norm) sum(B, S)", "");
  normBackward(to, "norm", "x", "norm.dn");
  to.backward("dx", kX, "add(%norm.dx1, %norm.dx2)", "");
  to.line("output dx = %dx cotangent of 0");
  to.line("loss %loss");
  return "body last {\n" + to.take() + "}\n";
}

} // namespace

std::string text(const LlamaText &options) {
  std::string out = "stgir differentiated\nprogram llama mode train\n";
  if (!options.mesh.empty())
    out += "mesh " + options.mesh + "\n";
  out += "sizes " + options.sizes + "\nfactor H = (KV, R)\n" + options.plan;
  out += "input ids : i32[B, S]\ninput target : i32[B, S]\nweight wte : bf16[V, D]\n";
  if (!options.tied)
    out += "weight head : bf16[V, D]\n";
  out += first() + block(options.parallel) + last();
  auto unit = [](int i) { return "@blocks[" + std::to_string(i) + "]"; };
  auto after = [&](int i) { return i + 1 < options.layers ? unit(i + 1) : std::string("@last"); };
  out += "unit @first : first(ids = input ids, dx = " + after(-1) + ":dx) weights(wte = weight wte)\n";
  for (int i = 0; i < options.layers; ++i)
    out += "unit " + unit(i) + " : block(x = " + (i ? unit(i - 1) : "@first") + ":x, dx2 = " + after(i) + ":dx)\n";
  out += "unit @last : last(x = " + (options.layers ? unit(options.layers - 1) : "@first") +
         ":x, target = input target) weights(head = weight " + (options.tied ? "wte" : "head") + ")\n";
  return out;
}

} // namespace stg::test
