//===- RandomModel.cpp ------------------------------------------------------===//
#include "RandomModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <optional>
#include <random>
#include <set>

namespace stg {

namespace {

using Dims = std::vector<std::string>;

struct Tensor {
  std::string name;
  Dims dims;
};

const std::vector<std::pair<std::string, int>> kSizes = {{"B", 8}, {"S", 8},  {"D", 8},  {"F", 8}, {"V", 8},
                                                         {"E", 8}, {"KV", 4}, {"Dh", 4}, {"T", 8}, {"P", 4}};
constexpr size_t kMostDims = 4;

std::string listOf(const Dims &dims) { return llvm::join(dims, ", "); }
bool has(const Dims &dims, const std::string &dim) { return llvm::is_contained(dims, dim); }
bool covers(const Dims &all, const Dims &some) {
  return llvm::all_of(some, [&](const std::string &dim) { return has(all, dim); });
}

class Random {
public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t bound) { return static_cast<size_t>(engine_() % bound); }
  size_t between(size_t first, size_t last) { return first + below(last - first + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T> const T &pick(const std::vector<T> &list) { return list[below(list.size())]; }
  template <class T> std::vector<T> sample(std::vector<T> list, size_t count) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[below(i)]);
    list.resize(std::min(count, list.size()));
    return list;
  }

private:
  std::mt19937_64 engine_;
};

class ModelWriter {
public:
  explicit ModelWriter(uint64_t seed) : random_(seed) {}

  RandomModel run() {
    std::string body = model();
    RandomModel result;
    result.text = "use std.attention.{gqa}\nuse std.ffn.{swiglu, mlp}\nuse "
                  "std.norm.{rmsnorm, layernorm}\n"
                  "use std.loss.{xent}\nuse std.optim.{adamw, sgd}\n" +
                  declarations_ + body;
    result.labels = labels_;
    return result;
  }

private:
  /// The statements of one layer or of the model.
  struct Scope {
    std::vector<Tensor> tensors;
    std::set<std::string> used;
    std::vector<Tensor> weights;
    std::string text;
    std::string indent = "  ";
    bool hasIds = false;
    unsigned labels = 0;
  };

  //===--------------------------------------------------------------------===//
  // Statements
  //===--------------------------------------------------------------------===//

  std::string fresh() { return "s" + std::to_string(next_++); }

  const Tensor &tensor(Scope &scope) {
    size_t count = scope.tensors.size();
    size_t first = random_.chance(70) && count > 4 ? count - 4 : 0;
    const Tensor &picked = scope.tensors[random_.between(first, count - 1)];
    return picked;
  }
  const std::string &use(Scope &scope, const Tensor &tensor) {
    scope.used.insert(tensor.name);
    return tensor.name;
  }
  std::string weight(Scope &scope, const Dims &dims) {
    if (random_.chance(30))
      for (const Tensor &known : scope.weights)
        if (known.dims == dims)
          return known.name;
    Tensor added{"w" + std::to_string(next_++), dims};
    scope.text += scope.indent + "weight " + added.name + "[" + listOf(dims) + "]\n";
    scope.weights.push_back(added);
    return added.name;
  }
  void define(Scope &scope, Dims dims, const std::string &expression) {
    std::string name = fresh(), order;
    // Another storage order than the expression's now and then.
    if (random_.chance(15)) {
      dims = random_.sample(dims, dims.size());
      if (!dims.empty())
        order = "[" + listOf(dims) + "]";
    }
    scope.text += scope.indent + name + order + " = " + expression + "\n";
    scope.tensors.push_back({name, dims});
  }

  static Dims unionOf(const Dims &a, const Dims &b) {
    Dims all = a;
    for (const std::string &dim : b)
      if (!has(all, dim))
        all.push_back(dim);
    return all;
  }
  static Dims without(const Dims &all, const Dims &gone) {
    Dims rest;
    for (const std::string &dim : all)
      if (!has(gone, dim))
        rest.push_back(dim);
    return rest;
  }

  /// A tensor of exactly these dims: one that is there, or one projected out of
  /// the first.
  Tensor shaped(Scope &scope, const Dims &dims) {
    for (const Tensor &known : llvm::reverse(scope.tensors))
      if (known.dims == dims && random_.chance(60))
        return known;
    const Tensor first = scope.tensors.front(); // has B, S and a third dim, or these
    Dims gone = without(first.dims, dims), made = without(dims, first.dims);
    if (gone.empty() && made.empty() && first.dims == dims)
      return first;
    std::string expression;
    if (gone.empty()) {
      expression = "(" + use(scope, first) + ")";
    } else {
      expression =
          "(sum(" + listOf(gone) + ") " + use(scope, first) + " * " + weight(scope, unionOf(gone, made)) + ") * 0.35";
    }
    std::string name = fresh();
    scope.text += scope.indent + name + "[" + listOf(dims) + "] = " + expression + "\n";
    scope.tensors.push_back({name, dims});
    return scope.tensors.back();
  }

  void projection(Scope &scope) {
    const Tensor from = tensor(scope);
    Dims gone = random_.sample(from.dims, random_.between(1, 2));
    Dims kept = without(from.dims, gone), pool;
    for (const auto &[dim, size] : kSizes)
      if (!has(from.dims, dim) && dim != "B")
        pool.push_back(dim);
    Dims made = random_.sample(pool, random_.below(3)), aligned;
    if (kept.size() + made.size() > kMostDims || gone.empty())
      return;
    for (const std::string &dim : kept)
      if (random_.chance(15) && dim != "B")
        aligned.push_back(dim);
    Dims weightDims = random_.sample(unionOf(unionOf(gone, aligned), made), 99);
    if (has(weightDims, "B"))
      return;
    std::string w = weight(scope, weightDims);
    define(scope, without(unionOf(from.dims, weightDims), gone),
           "(sum(" + listOf(gone) + ") " + use(scope, from) + " * " + w + ") * 0.35");
  }

  void product(Scope &scope) {
    const Tensor a = tensor(scope), b = random_.pick(scope.tensors);
    Dims gone;
    for (const std::string &dim : a.dims)
      if (has(b.dims, dim) && random_.chance(60))
        gone.push_back(dim);
    Dims rest = without(unionOf(a.dims, b.dims), gone);
    if (gone.empty() || a.name == b.name || rest.size() > kMostDims)
      return;
    define(scope, rest, "(sum(" + listOf(gone) + ") " + use(scope, a) + " * " + use(scope, b) + ") * 0.3");
  }

  /// A tensor whose dims are all among `dims`.
  const Tensor &within(Scope &scope, const Dims &dims) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < scope.tensors.size(); ++i)
      if (covers(dims, scope.tensors[i].dims))
        fitting.push_back(i);
    return scope.tensors[random_.pick(fitting)];
  }

  Dims some(const Dims &dims, unsigned percent) {
    Dims result;
    for (const std::string &dim : dims)
      if (random_.chance(percent))
        result.push_back(dim);
    return result;
  }

  void chain(Scope &scope, bool isSum) {
    const Tensor first = tensor(scope);
    std::string expression = isSum ? use(scope, first) : "tanh(" + use(scope, first) + ")";
    for (size_t i = random_.between(1, isSum ? 3 : 1); i-- > 0;) {
      const Tensor &other = within(scope, first.dims);
      expression += (!isSum ? " * " : random_.chance(25) ? " - 0.5 * " : " + ") + use(scope, other);
    }
    Dims dims = some(without(first.dims, {"B"}), 50);
    if (random_.chance(50) && !dims.empty())
      expression += (isSum ? " + " : " * ") + weight(scope, dims);
    define(scope, first.dims, expression);
  }

  void reduction(Scope &scope) {
    const Tensor from = tensor(scope);
    Dims gone = some(from.dims, 40);
    if (gone.empty())
      return;
    const char *kind = random_.pick(std::vector<const char *>{"mean", "sum", "max"});
    std::string scale = kind == std::string("sum") ? " * 0.2" : "";
    define(scope, without(from.dims, gone),
           "(" + std::string(kind) + "(" + listOf(gone) + ") " + use(scope, from) + ")" + scale);
  }

  void elementwise(Scope &scope) {
    const Tensor from = tensor(scope);
    const char *fn = random_.pick(std::vector<const char *>{"tanh", "silu", "gelu", "sigmoid", "square", "softplus"});
    std::string inside = std::string(fn) + "(" + use(scope, from) + ")";
    define(scope, from.dims, random_.chance(15) ? "dropout(" + inside + "; 0.3)" : inside);
  }

  void softmax(Scope &scope) {
    const Tensor from = tensor(scope);
    if (from.dims.empty())
      return;
    if (has(from.dims, "S") && has(from.dims, "T"))
      return define(scope, from.dims, "softmax(T) masked(" + use(scope, from) + "; causal, S, T)");
    // A sum of shares alone is 1 everywhere: its largest element would be a matter of rounding.
    std::string x = use(scope, from);
    define(scope, from.dims, "(softmax(" + random_.pick(from.dims) + ") " + x + ") + 0.1 * " + x);
  }

  void movement(Scope &scope) {
    const Tensor from = tensor(scope);
    Dims renamed = from.dims;
    auto rename = [&](const std::string &a, const std::string &b) {
      if (!has(from.dims, a) || has(from.dims, b))
        return false;
      std::replace(renamed.begin(), renamed.end(), a, b);
      define(scope, renamed, use(scope, from) + "[" + a + " as " + b + "]");
      return true;
    };
    switch (random_.below(4)) {
    case 0:
      if (!rename("S", "T"))
        rename("T", "S");
      return;
    case 1:
      if (!rename("D", "F"))
        rename("F", "D");
      return;
    case 2:
      if (from.dims.size() >= 2) {
        Dims two = random_.sample(from.dims, 2);
        define(scope, mergedOrder(from.dims, two),
               use(scope, from) + "[(" + listOf(two) + ") as Merged][Merged as (" + listOf(two) + ")]");
      }
      return;
    default:
      if (from.dims.size() > 1 && random_.chance(60)) {
        std::string gone = random_.pick(from.dims);
        if (gone == "B") // a micro-batch may have one sequence
          return;
        define(scope, without(from.dims, {gone}), "at(" + use(scope, from) + "; " + gone + ", 1)");
      }
    }
  }
  static Dims mergedOrder(const Dims &dims, const Dims &two) {
    Dims order;
    for (const std::string &dim : dims)
      if (dim == two[0])
        order.insert(order.end(), two.begin(), two.end());
      else if (dim != two[1])
        order.push_back(dim);
    return order;
  }

  std::string label(Scope &scope) {
    static const std::vector<std::string> kLabels = {"a", "b", "c", "d", "attn", "ffn"};
    std::string text = random_.pick(kLabels) + (scope.labels ? std::to_string(scope.labels) : "");
    ++scope.labels;
    labels_.push_back(text);
    return text + ": ";
  }

  void libraryLayer(Scope &scope) {
    Dims tokens = {"B", "S", "D"};
    if (random_.chance(30)) {
      const Tensor from = tensor(scope);
      if (!from.dims.empty() && from.dims.back() != "B")
        define(scope, from.dims,
               label(scope) + (random_.chance(50) ? "rmsnorm(" : "layernorm(") + use(scope, from) + ")");
      return;
    }
    const Dims &first = scope.tensors.front().dims;
    if (first != tokens && (!covers(first, {"B", "S"}) || first.size() < 3))
      return;
    const Tensor x = shaped(scope, tokens);
    std::string layer = random_.pick(std::vector<std::string>{
        "gqa(X; H = 8, KV = 4, Dh = 4)", "gqa(X; H = 4, KV = 4, Dh = 4, mask = window(3), qk_norm = true)",
        "swiglu(X; F = 8)", "mlp(X; F = 16, bias = true)"});
    layer.replace(layer.find("X"), 1, use(scope, x));
    define(scope, tokens, label(scope) + layer);
  }

  /// Never the rows alone: those of equal ids are equal, and where a maximum finds two of them largest, rounding
  /// decides which gets the gradient.
  void lookup(Scope &scope) {
    if (!scope.hasIds)
      return;
    const Tensor from = tensor(scope);
    if (covers(from.dims, {"B", "S", "V"}))
      define(scope, without(from.dims, {"V"}), "gather(" + use(scope, from) + ", ids; V)");
    else
      define(scope, {"B", "S", "E"}, "lookup(ids, " + weight(scope, {"V", "E"}) + ") * (mean(D) xin)");
  }

  void statement(Scope &scope) {
    size_t k = random_.below(100);
    if (k < 24)
      projection(scope);
    else if (k < 33)
      product(scope);
    else if (k < 43)
      chain(scope, /*isSum=*/false);
    else if (k < 60)
      chain(scope, /*isSum=*/true);
    else if (k < 68)
      elementwise(scope);
    else if (k < 76)
      reduction(scope);
    else if (k < 80)
      softmax(scope);
    else if (k < 86)
      movement(scope);
    else if (k < 94)
      libraryLayer(scope);
    else
      lookup(scope);
  }

  //===--------------------------------------------------------------------===//
  // Layers and the model
  //===--------------------------------------------------------------------===//

  struct Layer {
    std::string name;
    std::vector<Dims> operands;
    Dims result;
  };

  /// A layer of these operands. The dims that only its weights have get their
  /// sizes as defaults.
  Layer layer(std::vector<Dims> operands, std::optional<Dims> result) {
    Scope scope;
    std::string name = "layer" + std::to_string(layers_++), signature;
    Dims bound;
    for (size_t i = 0; i < operands.size(); ++i) {
      scope.tensors.push_back({"x" + std::to_string(i), operands[i]});
      signature += (i ? ", x" : "x") + std::to_string(i) + "[" + listOf(operands[i]) + "]";
      bound = unionOf(bound, operands[i]);
    }
    for (size_t i = random_.between(1, 5); i-- > 0;)
      statement(scope);
    Tensor last = scope.tensors.back();
    if (result)
      last = shaped(scope, *result);
    std::string statics;
    for (const auto &[dim, size] : kSizes)
      if (!has(bound, dim) &&
          llvm::any_of(scope.weights, [&, &dim = dim](const Tensor &w) { return has(w.dims, dim); }))
        statics += (statics.empty() ? "; " : ", ") + dim + " = " + std::to_string(size);
    declarations_ +=
        "layer " + name + "(" + signature + statics + ") {\n" + scope.text + "  return " + last.name + "\n}\n";
    return {name, std::move(operands), last.dims};
  }

  void layerCall(Scope &scope) {
    std::vector<Dims> operands;
    std::string arguments;
    for (size_t i = random_.between(1, 2); i-- > 0;) {
      const Tensor from = tensor(scope);
      if (from.dims.empty())
        return;
      operands.push_back(from.dims);
      arguments += (arguments.empty() ? "" : ", ") + use(scope, from);
    }
    Layer called = layer(operands, std::nullopt);
    define(scope, called.result, label(scope) + called.name + "(" + arguments + ")");
  }

  void repeated(Scope &scope) {
    Dims tokens = {"B", "S", "D"};
    const Tensor x = shaped(scope, tokens);
    Layer block = layer({tokens}, tokens);
    std::string name = fresh(), count = std::to_string(random_.between(2, 3));
    bool isUnit = random_.chance(30);
    scope.text += "  " + name + " = " + use(scope, x) + "\n  " +
                  (isUnit ? "unit mid" : "repeat " + count + " as blocks") + std::to_string(next_) + " {\n    " + name +
                  // Bounded, so that products of iterations do not leave differences to rounding.
                  " = " + name + " + tanh(" + label(scope) + block.name + "(" + name + "))\n  }\n";
    ++next_;
    scope.tensors.push_back({name, tokens});
  }

  std::string model() {
    Scope scope;
    scope.hasIds = true;
    scope.text = "  input ids[B, S]: i32, xin[B, S, D]\n";
    scope.tensors.push_back({"xin", {"B", "S", "D"}});
    std::string start = weight(scope, {"D", "F"});
    define(scope, {"B", "S", "F"}, "sum(D) xin * " + start);
    scope.tensors.erase(scope.tensors.begin());
    std::string table = weight(scope, {"V", "D"});
    define(scope, {"B", "S", "D"}, "lookup(ids, " + table + ") + xin");
    for (size_t i = random_.between(3, 8); i-- > 0;) {
      size_t k = random_.below(100);
      if (k < 70)
        statement(scope);
      else if (k < 85)
        layerCall(scope);
      else
        repeated(scope);
    }
    for (const Tensor &each : scope.tensors)
      if (!scope.used.count(each.name) || each.name == scope.tensors.back().name)
        scope.text += "  loss " +
                      (each.dims == Dims{"B", "S", "V"} ? "xent(" + each.name + ", ids)" : "tanh(" + each.name + ")") +
                      "\n";
    std::string sizes;
    for (const auto &[dim, size] : kSizes)
      sizes += (sizes.empty() ? "" : ", ") + dim + " = " + std::to_string(size);
    return "model m(" + sizes + ") {\n" + scope.text + "}\n";
  }

  Random random_;
  std::string declarations_;
  std::vector<std::string> labels_;
  unsigned next_ = 0, layers_ = 0;
};

} // namespace

RandomModel randomModel(uint64_t seed) { return ModelWriter(seed).run(); }

std::string randomPlan(uint64_t seed, const RandomModel &model, Rest rest, Cut cut) {
  Random random(seed);
  struct Axis {
    std::string name;
    int64_t size;
  };
  static const std::vector<std::vector<Axis>> kMeshes = {
      {{"p", 2}}, {{"p", 4}}, {{"p", 2}, {"q", 2}}, {{"p", 2}, {"q", 2}, {"r", 2}}, {{"p", 4}, {"q", 2}}};
  static const std::vector<std::vector<Axis>> kUneven = {
      {{"p", 3}}, {{"p", 2}, {"q", 3}}, {{"p", 3}, {"q", 2}}, {{"p", 4}, {"q", 2}}};
  const std::vector<Axis> &mesh = random.pick(rest == Rest::Pad ? kUneven : kMeshes);
  static const Dims kDims = {"B", "S", "D", "F", "V", "E", "H", "KV", "R", "Dh", "T", "P"};
  std::string rules, axes;
  int64_t ranks = 1;
  for (const Axis &axis : mesh) {
    axes += (axes.empty() ? "" : ", ") + axis.name + " = " + std::to_string(axis.size);
    ranks *= axis.size;
  }
  std::set<std::string> onBatch;
  for (size_t count = random.between(1, 7); count-- > 0;) {
    Dims dims = random.sample(kDims, random.between(1, 3)), over;
    for (const Axis &axis : random.sample(mesh, random.between(1, 2)))
      over.push_back(axis.name);
    bool zigzag = random.chance(6);
    if (zigzag)
      dims = {"S"};
    rules += "  split ";
    for (size_t i = 0; i < dims.size(); ++i)
      rules += (i ? ", " : "") + dims[i] + "?" + (zigzag ? " zigzag" : rest == Rest::Pad ? " pad" : " or replicate");
    rules += " over " + listOf(over);
    if (random.chance(40) && !model.labels.empty())
      rules += " in " + random.pick(model.labels);
    rules += "\n";
    if (has(dims, "B"))
      onBatch.insert(over.begin(), over.end());
  }
  int64_t batchRanks = 1;
  for (const Axis &axis : mesh)
    batchRanks *= onBatch.count(axis.name) ? axis.size : 1;
  int64_t microBatches = 1;
  if (cut == Cut::Always) {
    static const Dims kSchedules = {
        "gpipe",    "1f1b",     "interleaved_1f1b(chunks = 2)", "interleaved_zb(chunks = 2)", "zb_h1", "zb_h2", "zb_v",
        "dualpipe", "dualpipev"};
    axes += ", pp = 2";
    ranks *= 2;
    microBatches = 4;
    rules += "  pipeline over pp {\n    schedule " + random.pick(kSchedules) + "\n    cut " +
             (random.chance(50) ? "even" : "balanced") + "\n  }\n  microbatch " + std::to_string(8 / batchRanks) + "\n";
  } else if (random.chance(50) && 8 % batchRanks == 0) {
    microBatches = random.chance(50) ? 2 : 3;
    rules += "  microbatch " + std::to_string(8 / batchRanks) + "\n";
  }
  std::string train = random.chance(50) ? "optimizer = adamw, clip = 0.5" : "optimizer = sgd";
  return "plan p {\n  mesh " + axes + "\n" + rules +
         "}\nworkload w {\n  model m(B = " + std::to_string(8 * microBatches) + ")\n  plan p\n  ranks " +
         std::to_string(ranks) + "\n  train { " + train + " }\n}\n";
}

} // namespace stg
