//===- Architectures.cpp - a row per architecture ---------------------------------------===//
// What a field means and what its absence means are those of the Hugging Face classes (transformers 4.57) and of the
// code that comes with the released weights.
//===----------------------------------------------------------------------===//
#include "Architecture.h"
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;
using llvm::json::Value;

namespace {

using enum FieldUse;

// Rows of most families.
#define DIMS                                                                                                           \
  {"vocab_size", Size, "V", ""}, {"hidden_size", Size, "D", ""}, {"num_hidden_layers", Size, "L", ""},                 \
      {"num_attention_heads", Size, "H", ""}
#define SILU {"hidden_act", Fixed, "experts and feed-forward are gated by silu", "\"silu\"|\"swish\""}
#define NO_DROPOUT {"attention_dropout", Fixed, "no scores are dropped", "0.0"}
#define UNTIED {"tie_word_embeddings", Fixed, "the last product has weights of its own", "false"}
#define NO_BIAS {"attention_bias", Fixed, "projections have no biases", "false"}
#define ONE_SLICE {"pretraining_tp", Fixed, "products are not sliced (1 gives the same numbers)", "1"}

/// Keys and values have as many heads as queries, or as many as there are.
void readHeads(ConfigReader &config, ModelCall &call) {
  int64_t heads = config.whole("num_attention_heads", 1);
  call.give("KV", std::to_string(config.whole("num_key_value_heads", heads)));
}

/// `head_dim`; without it D / H.
int64_t headWidth(ConfigReader &config, std::optional<int64_t> absent = std::nullopt) {
  int64_t heads = config.whole("num_attention_heads", 1), width = config.whole("hidden_size", 1);
  return config.whole("head_dim", absent.value_or(std::max<int64_t>(1, width / heads)));
}

/// Where the shipped model has no width of heads of its own.
void requireEqualHeads(ConfigReader &config) {
  int64_t heads = config.whole("num_attention_heads", 1), width = config.whole("hidden_size", 1);
  if (config.take("head_dim") && config.whole("head_dim") * heads != width)
    config.refuse("head_dim", fmt::format("its heads have {} / {} channels", width, heads));
}

/// Latent attention and DeepSeekMoE have no groups of heads.
void requireUngroupedHeads(ConfigReader &config) {
  int64_t heads = config.whole("num_attention_heads", 1);
  if (config.whole("num_key_value_heads", heads) != heads)
    config.refuse("num_key_value_heads", "every query head has keys and values of its own");
}

//===----------------------------------------------------------------------===//
// Dense models
//===----------------------------------------------------------------------===//

constexpr ShippedModel kLlamas[] = {{"models.llama3", "llama3_8b", 32, 4096, 128256},
                                    {"models.llama3", "llama3_70b", 80, 8192, 128256},
                                    {"models.llama3", "llama3_405b", 126, 16384, 128256},
                                    {"models.llama2", "llama2_7b", 32, 4096, 32000},
                                    {"models.llama2", "llama2_70b", 80, 8192, 32000}};
constexpr FieldRule kLlama[] = {DIMS,
                                {"intermediate_size", Size, "F", ""},
                                {"rms_norm_eps", Number, "eps", "1e-6"},
                                {"attention_bias", Flag, "bias", "false"},
                                {"tie_word_embeddings", Flag, "tied", "false"},
                                {"mlp_bias", Fixed, "its feed-forward has no biases", "false"},
                                SILU,
                                NO_DROPOUT,
                                ONE_SLICE};
void llama(ConfigReader &config, ModelCall &call) {
  readHeads(config, call);
  requireEqualHeads(config);
  readRope(config, 10000, RopeStyle::Plain, call);
}

constexpr ShippedModel kMistrals[] = {{"models.mistral", "mistral_7b", 32, 4096, 32000}};
constexpr FieldRule kMistral[] = {DIMS,
                                  {"num_key_value_heads", Size, "KV", "8"},
                                  {"intermediate_size", Size, "F", ""},
                                  {"rms_norm_eps", Number, "eps", "1e-6"},
                                  SILU,
                                  NO_DROPOUT,
                                  UNTIED};
void mistral(ConfigReader &config, ModelCall &call) {
  call.give("Dh", std::to_string(headWidth(config)));
  readWindow(config, 4096, call);
  readRope(config, 10000, RopeStyle::Plain, call);
}

constexpr ShippedModel kQwens2[] = {{"models.qwen2_5", "qwen2_5_7b", 28, 3584, 152064},
                                    {"models.qwen2_5", "qwen2_5_72b", 80, 8192, 152064}};
constexpr FieldRule kQwen2[] = {DIMS,
                                {"num_key_value_heads", Size, "KV", "32"},
                                {"intermediate_size", Size, "F", ""},
                                {"rms_norm_eps", Number, "eps", "1e-6"},
                                {"tie_word_embeddings", Flag, "tied", "false"},
                                {"use_mrope", Fixed, "positions are one number", "false"},
                                SILU,
                                NO_DROPOUT};
void qwen2(ConfigReader &config, ModelCall &call) {
  requireEqualHeads(config);
  readLateWindows(config, call);
  readRope(config, 10000, RopeStyle::Plain, call);
}

constexpr ShippedModel kQwens3[] = {{"models.qwen3", "qwen3_8b", 36, 4096, 151936}};
constexpr FieldRule kQwen3[] = {DIMS,
                                {"num_key_value_heads", Size, "KV", "32"},
                                {"head_dim", Size, "Dh", "128"},
                                {"intermediate_size", Size, "F", ""},
                                {"rms_norm_eps", Number, "eps", "1e-6"},
                                {"attention_bias", Flag, "bias", "false"},
                                {"tie_word_embeddings", Flag, "tied", "false"},
                                SILU,
                                NO_DROPOUT};
void qwen3(ConfigReader &config, ModelCall &call) {
  readLateWindows(config, call);
  readRope(config, 10000, RopeStyle::Plain, call);
}

constexpr ShippedModel kGpts[] = {
    {"models.gpt3", "gpt3_125m", 12, 768, 50257},  {"models.gpt3", "gpt3_350m", 24, 1024, 50257},
    {"models.gpt3", "gpt3_760m", 24, 1536, 50257}, {"models.gpt3", "gpt3_1_3b", 24, 2048, 50257},
    {"models.gpt3", "gpt3_2_7b", 32, 2560, 50257}, {"models.gpt3", "gpt3_6_7b", 32, 4096, 50257},
    {"models.gpt3", "gpt3_13b", 40, 5140, 50257},  {"models.gpt3", "gpt3_175b", 96, 12288, 50257}};
constexpr FieldRule kGpt2[] = {
    {"vocab_size", Size, "V", "50257"},
    {"n_embd", Size, "D", "768"},
    {"n_layer", Size, "L", "12"},
    {"n_head", Size, "H", "12"},
    {"n_positions", Size, "S", "1024"},
    {"layer_norm_epsilon", Number, "eps", "1e-5"},
    {"activation_function", Fixed, "its activation is gelu",
     "\"gelu_new\"|\"gelu\"|\"gelu_pytorch_tanh\"|\"gelu_fast\""},
    {"tie_word_embeddings", Fixed, "the last product reads the embedding's weights", "true"},
    {"scale_attn_weights", Fixed, "scores are divided by the root of a head's width", "true"},
    {"scale_attn_by_inverse_layer_idx", Fixed, "scores are not divided by the number of the layer", "false"},
    {"reorder_and_upcast_attn", Fixed, "scores are as wide as activations", "false"},
    {"add_cross_attention", Fixed, "there is no encoder", "false"}};
void gpt2(ConfigReader &config, ModelCall &call) {
  int64_t width = config.whole("n_embd", 768), heads = config.whole("n_head", 12);
  call.give("Dh", std::to_string(std::max<int64_t>(1, width / heads)));
  call.give("F", std::to_string(config.whole("n_inner", 4 * width)));
  readDropout(config, "embd_pdrop", "resid_pdrop", "attn_pdrop", call);
  // `n_ctx` is an old name of `n_positions`; summaries belong to heads of other tasks.
  config.ignore({"n_ctx", "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
                 "summary_use_proj"});
}

constexpr ShippedModel kBerts[] = {{"models.bert", "bert_base", 12, 768, 30522},
                                   {"models.bert", "bert_large", 24, 1024, 30522}};
constexpr FieldRule kBert[] = {
    DIMS,
    {"intermediate_size", Size, "F", ""},
    {"max_position_embeddings", Size, "S", "512"},
    {"type_vocab_size", Size, "Ns", "2"},
    {"layer_norm_eps", Number, "eps", "1e-12"},
    {"hidden_act", Fixed, "its activation is gelu", "\"gelu\"|\"gelu_new\"|\"gelu_pytorch_tanh\""},
    {"position_embedding_type", Fixed, "positions are a learned table", "\"absolute\""},
    {"tie_word_embeddings", Fixed, "the last product reads the embedding's weights", "true"},
    {"is_decoder", Fixed, "every query sees every key", "false"},
    {"add_cross_attention", Fixed, "there is no encoder beside it", "false"}};
void bert(ConfigReader &config, ModelCall &call) {
  // Of 512 positions 77 are predicted: 15 %.
  call.give("P", std::to_string((config.whole("max_position_embeddings", 512) * 15 + 99) / 100));
  readDropout(config, "hidden_dropout_prob", "hidden_dropout_prob", "attention_probs_dropout_prob", call);
  config.ignore({"classifier_dropout"});
}

//===----------------------------------------------------------------------===//
// Models with experts
//===----------------------------------------------------------------------===//

constexpr ShippedModel kMixtrals[] = {{"models.mixtral", "mixtral_8x7b", 32, 4096, 32000},
                                      {"models.mixtral", "mixtral_8x22b", 56, 6144, 32768}};
constexpr FieldRule kMixtral[] = {DIMS,
                                  {"num_key_value_heads", Size, "KV", "8"},
                                  {"intermediate_size", Size, "F", ""},
                                  {"num_local_experts", Size, "E", "8"},
                                  {"num_experts_per_tok", Size, "top", "2"},
                                  {"rms_norm_eps", Number, "eps", "1e-5"},
                                  {"router_aux_loss_coef", Number, "aux", "0.001"},
                                  {"router_jitter_noise", Fixed, "routers have no noise", "0.0"},
                                  SILU,
                                  NO_DROPOUT,
                                  UNTIED};
void mixtral(ConfigReader &config, ModelCall &call) {
  call.give("Dh", std::to_string(headWidth(config)));
  readWindow(config, 0, call);
  readRope(config, 1e6, RopeStyle::Plain, call);
}

constexpr ShippedModel kQwensMoe[] = {{"models.qwen3", "qwen3_235b_a22b", 94, 4096, 151936}};
constexpr FieldRule kQwen3Moe[] = {
    DIMS,
    {"num_key_value_heads", Size, "KV", "4"},
    {"intermediate_size", Size, "Fd", ""},
    {"moe_intermediate_size", Size, "F", "768"},
    {"num_experts", Size, "E", "128"},
    {"num_experts_per_tok", Size, "top", "8"},
    {"decoder_sparse_step", Size, "every", "1"},
    {"norm_topk_prob", Flag, "renorm", "false"},
    {"router_aux_loss_coef", Number, "aux", "0.001"},
    {"rms_norm_eps", Number, "eps", "1e-6"},
    {"attention_bias", Flag, "bias", "false"},
    {"tie_word_embeddings", Flag, "tied", "false"},
    {"mlp_only_layers", Fixed, "dense blocks are those that `decoder_sparse_step` says", "[]"},
    SILU,
    NO_DROPOUT};
void qwen3Moe(ConfigReader &config, ModelCall &call) {
  call.give("Dh", std::to_string(headWidth(config)));
  readLateWindows(config, call);
  readRope(config, 10000, RopeStyle::Plain, call);
}

#define DEEPSEEK                                                                                                       \
  DIMS, {"intermediate_size", Size, "Fd", ""}, {"moe_intermediate_size", Size, "F", ""},                               \
      {"n_routed_experts", Size, "E", ""}, {"num_experts_per_tok", Size, "top", ""},                                   \
      {"n_shared_experts", Size, "shared", ""}, {"first_k_dense_replace", Size, "Lead", ""},                           \
      {"rms_norm_eps", Number, "eps", "1e-6"},                                                                         \
      {"moe_layer_freq", Fixed, "every block behind the dense ones has experts", "1"}, SILU, NO_DROPOUT, UNTIED,       \
      NO_BIAS, ONE_SLICE
#define LATENT                                                                                                         \
  {"kv_lora_rank", Size, "Rkv", ""}, {"qk_nope_head_dim", Size, "Dn", ""}, {"qk_rope_head_dim", Size, "Dr", ""},       \
      {"v_head_dim", Size, "Dv", ""}

/// Over which ranks the library spreads experts is the plan's; whether loads are counted per sequence costs nothing.
void ignoreDeployment(ConfigReader &config) { config.ignore({"ep_size", "seq_aux"}); }

constexpr ShippedModel kDeepseeksMoe[] = {{"models.deepseek_moe", "deepseek_moe_16b", 28, 2048, 102400}};
constexpr FieldRule kDeepseekMoe[] = {DEEPSEEK,
                                      {"norm_topk_prob", Flag, "renorm", "false"},
                                      {"aux_loss_alpha", Number, "aux", "0.001"},
                                      {"scoring_func", Fixed, "scores are softmaxed", "\"softmax\""}};
void deepseekMoe(ConfigReader &config, ModelCall &call) {
  requireUngroupedHeads(config);
  ignoreDeployment(config);
  readRope(config, 10000, RopeStyle::Plain, call);
}

/// `q_lora_rank`, or null: queries are made from x.
void readLatent(ConfigReader &config, ModelCall &call) {
  requireUngroupedHeads(config);
  if (int64_t rank = config.whole("q_lora_rank", 0))
    call.give("Rq", std::to_string(rank));
  else
    call.give("q_latent", "false");
  ignoreDeployment(config);
  readRope(config, 10000, RopeStyle::Latent, call);
}

void readGroups(ConfigReader &config, ModelCall &call) {
  call.give("groups", std::to_string(config.whole("n_group")));
  call.give("top_groups", std::to_string(config.whole("topk_group")));
}

constexpr ShippedModel kDeepseeksV2[] = {{"models.deepseek_v2", "deepseek_v2", 60, 5120, 102400}};
constexpr FieldRule kDeepseekV2[] = {DEEPSEEK,
                                     LATENT,
                                     {"routed_scaling_factor", Number, "scale", "1.0"},
                                     {"aux_loss_alpha", Number, "aux", "0.001"},
                                     {"scoring_func", Fixed, "scores are softmaxed", "\"softmax\""},
                                     {"norm_topk_prob", Fixed, "scores stay as they are, times a factor", "false"}};
void deepseekV2(ConfigReader &config, ModelCall &call) {
  readLatent(config, call);
  std::string method = config.text("topk_method", "greedy");
  if (method == "group_limited_greedy")
    return readGroups(config, call);
  config.require("topk_method", "\"greedy\"", "experts are the best of all or of the best groups");
  config.ignore({"n_group", "topk_group"});
  call.give("groups", "1");
  call.give("top_groups", "1");
}

constexpr ShippedModel kDeepseeksV3[] = {{"models.deepseek_v3", "deepseek_v3", 61, 7168, 129280}};
constexpr FieldRule kDeepseekV3[] = {
    DEEPSEEK,
    LATENT,
    {"routed_scaling_factor", Number, "scale", "2.5"},
    {"scoring_func", Fixed, "scores are sigmoids", "\"sigmoid\""},
    {"topk_method", Fixed, "a bias in the choice evens loads, no loss does", "\"noaux_tc\""},
    {"norm_topk_prob", Fixed, "the scores of the chosen are made to sum to 1", "true"}};
void deepseekV3(ConfigReader &config, ModelCall &call) {
  readLatent(config, call);
  readGroups(config, call);
  // The model's own code never reads it.
  config.ignore({"aux_loss_alpha"});
  int64_t ahead = config.whole("num_nextn_predict_layers", 0, 0);
  if (ahead > 1)
    config.refuse("num_nextn_predict_layers", "one block predicts further tokens, or none");
  call.give("mtp", ahead ? "true" : "false");
}

constexpr ShippedModel kGptOsses[] = {{"models.gpt_oss", "gpt_oss_20b", 24, 2880, 201088},
                                      {"models.gpt_oss", "gpt_oss_120b", 36, 2880, 201088}};
constexpr FieldRule kGptOss[] = {DIMS,
                                 {"num_key_value_heads", Size, "KV", "8"},
                                 {"head_dim", Size, "Dh", "64"},
                                 {"intermediate_size", Size, "F", ""},
                                 {"num_local_experts", Size, "E", "128"},
                                 {"num_experts_per_tok", Size, "top", "4"},
                                 {"rms_norm_eps", Number, "eps", "1e-5"},
                                 {"swiglu_limit", Number, "limit", "7.0"},
                                 {"router_aux_loss_coef", Number, "aux", "0.9"},
                                 {"attention_bias", Fixed, "projections have biases", "true"},
                                 SILU,
                                 NO_DROPOUT,
                                 UNTIED};
void gptOss(ConfigReader &config, ModelCall &call) {
  readWindow(config, 128, call);
  requireLayerTypes(
      config, [](int64_t i) { return i % 2 ? "full_attention" : "sliding_attention"; },
      "blocks have a window and none by turns, from the first on");
  // `rope_scaling` says it too; the other is an old name of `num_experts_per_tok`.
  config.ignore({"initial_context_length", "experts_per_token"});
  readRope(config, 150000, RopeStyle::Plain, call);
  std::optional<ConfigReader> stored = config.object("quantization_config");
  if (!stored)
    return;
  stored->require("quant_method", "\"mxfp4\"", "experts are stored in MXFP4, or all in bf16");
  stored->require("modules_to_not_convert",
                  "[\"model.layers.*.self_attn\",\"model.layers.*.mlp.router\",\"model.embed_tokens\",\"lm_head\"]",
                  "experts alone are stored in MXFP4");
  stored->finish();
  config.leaveOut("quantization_config", "of MXFP4 the 4 bits of a weight count, not the 8 bits that 32 of them share");
  call.precision = "  precision { weight = f4e2m1 } in experts.w_gate, experts.w_up, experts.w_down\n";
}

constexpr ShippedModel kLlamas4[] = {{"models.llama4", "llama4_scout", 48, 5120, 202048},
                                     {"models.llama4", "llama4_maverick", 48, 5120, 202048}};
constexpr FieldRule kLlama4[] = {DIMS,
                                 {"num_key_value_heads", Size, "KV", "8"},
                                 {"head_dim", Size, "Dh", "128"},
                                 {"intermediate_size", Size, "F", ""},
                                 {"num_local_experts", Size, "E", "16"},
                                 {"num_experts_per_tok", Size, "top", "1"},
                                 {"attention_chunk_size", Size, "reach", "8192"},
                                 {"rms_norm_eps", Number, "eps", "1e-5"},
                                 {"router_jitter_noise", Fixed, "routers have no noise", "0.0"},
                                 SILU,
                                 NO_DROPOUT,
                                 UNTIED,
                                 NO_BIAS};
/// Which blocks rotate positions: all but one in `no_rope_layer_interval`. A list says 1 of those that do.
void readUnrotated(ConfigReader &config, ModelCall &call) {
  int64_t nope = config.whole("no_rope_layer_interval", 4);
  call.give("nope", std::to_string(nope));
  auto rotates = [&](int64_t i) { return i % nope != nope - 1; };
  const Value *value = config.take("no_rope_layers");
  const llvm::json::Array *list = value ? value->getAsArray() : nullptr;
  bool same =
      !value || (list && (list->empty() || static_cast<int64_t>(list->size()) == config.whole("num_hidden_layers", 0)));
  for (size_t i = 0; same && list && i < list->size(); ++i)
    same = (*list)[i].getAsInteger() == (rotates(static_cast<int64_t>(i)) ? 1 : 0);
  if (!same)
    config.refuse("no_rope_layers", fmt::format("one block in {} has no positions, the last of them", nope));
  requireLayerTypes(
      config, [&](int64_t i) { return rotates(i) ? "chunked_attention" : "full_attention"; },
      "blocks with positions see a chunk, blocks without all");
}

/// Which blocks have experts.
void readExpertBlocks(ConfigReader &config, ModelCall &call) {
  int64_t every = config.whole("interleave_moe_layer_step", 1);
  if (every > 1)
    call.give("every", std::to_string(every));
  const Value *value = config.take("moe_layers");
  const llvm::json::Array *list = value ? value->getAsArray() : nullptr;
  bool same = !value || (list && static_cast<int64_t>(list->size()) == config.whole("num_hidden_layers", 1) / every);
  for (size_t i = 0; same && list && i < list->size(); ++i)
    same = (*list)[i].getAsInteger() == every * static_cast<int64_t>(i + 1) - 1;
  if (!same)
    config.refuse("moe_layers", "experts are in one block of `interleave_moe_layer_step`, the last of them");
  // Dense blocks; with experts in all there are none.
  int64_t dense = config.whole("intermediate_size_mlp", 16384);
  if (every > 1)
    call.give("Fd", std::to_string(dense));
}

void llama4(ConfigReader &config, ModelCall &call) {
  readUnrotated(config, call);
  readExpertBlocks(config, call);
  const Value *tuned = config.take("attn_temperature_tuning");
  // Early configs have a number here.
  bool grows = !tuned || tuned->getAsBoolean().value_or(tuned->getAsNumber().value_or(0) != 0);
  int64_t first = config.whole("floor_scale", 8192);
  double scale = config.number("attn_scale", 0.1);
  if (grows) {
    call.family.insert("long_query");
    call.give("q_scale", fmt::format("long_query(start = past, reach = {}, scale = {})", first, numberText(scale)));
  } else {
    call.give("q_scale", "identity");
  }
  readRope(config, 500000, config.flag("use_qk_norm", true) ? RopeStyle::Unit : RopeStyle::Plain, call);
  // The library's model never adds the loss of its router.
  config.ignore({"router_aux_loss_coef", "for_llm_compression"});
}
const ShippedModel *chooseLlama4(ConfigReader &config, llvm::ArrayRef<ShippedModel> models) {
  return &models[config.whole("interleave_moe_layer_step", 1) == 1 ? 0 : 1];
}

constexpr Architecture kArchitectures[] = {
    {"LlamaForCausalLM", "", kLlamas, kLlama, llama, nullptr},
    {"MistralForCausalLM", "", kMistrals, kMistral, mistral, nullptr},
    {"MixtralForCausalLM", "", kMixtrals, kMixtral, mixtral, nullptr},
    {"Qwen2ForCausalLM", "", kQwens2, kQwen2, qwen2, nullptr},
    {"Qwen3ForCausalLM", "", kQwens3, kQwen3, qwen3, nullptr},
    {"Qwen3MoeForCausalLM", "", kQwensMoe, kQwen3Moe, qwen3Moe, nullptr},
    {"DeepseekForCausalLM", "", kDeepseeksMoe, kDeepseekMoe, deepseekMoe, nullptr},
    {"DeepseekV2ForCausalLM", "", kDeepseeksV2, kDeepseekV2, deepseekV2, nullptr},
    {"DeepseekV3ForCausalLM", "", kDeepseeksV3, kDeepseekV3, deepseekV3, nullptr},
    {"GptOssForCausalLM", "", kGptOsses, kGptOss, gptOss, nullptr},
    {"Llama4ForConditionalGeneration", "text_config", kLlamas4, kLlama4, llama4, chooseLlama4},
    {"Llama4ForCausalLM", "text_config", kLlamas4, kLlama4, llama4, chooseLlama4},
    {"GPT2LMHeadModel", "", kGpts, kGpt2, gpt2, nullptr},
    {"BertForMaskedLM", "", kBerts, kBert, bert, nullptr},
};

} // namespace

llvm::ArrayRef<Architecture> stg::architectures() { return kArchitectures; }
