//===- SharedFields.cpp - positions, windows and dropout of configs --------------------===//
#include "Architecture.h"
#include <cmath>
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;
using llvm::json::Value;

std::string stg::numberText(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// How much YaRN lets attention grow with the length: 0.1 m ln(s) + 1, arXiv 2309.00071, equation 22.
static double temperature(double factor, double strength) {
  return factor <= 1 ? 1.0 : 0.1 * strength * std::log(factor) + 1.0;
}

/// What cosines and sines are multiplied by: stated, or from the strengths of rotated and of all channels.
static double yarnGain(ConfigReader &scaling, double factor, RopeStyle style, ModelCall &call) {
  double stated = scaling.number("attention_factor", 0.0);
  double rotated = scaling.number("mscale", style == RopeStyle::Latent ? 1.0 : 0.0);
  double all = scaling.number("mscale_all_dim", 0.0);
  if (style == RopeStyle::Latent) {
    if (all > 0)
      call.give("temper", numberText(std::pow(temperature(factor, all), 2)));
    return temperature(factor, rotated) / temperature(factor, all);
  }
  if (stated > 0)
    return stated;
  return rotated > 0 && all > 0 ? temperature(factor, rotated) / temperature(factor, all) : temperature(factor, 1);
}

/// The arguments of `rotary` behind `start`; empty without scaling.
static std::string scalingArguments(ConfigReader &scaling, int64_t longest, RopeStyle style, ModelCall &call) {
  std::string older = scaling.text("type", "default"), type = scaling.text("rope_type", older);
  if (type == "default")
    return "";
  if (type != "linear" && type != "llama3" && type != "yarn") {
    scaling.refuse(scaling.take("rope_type") ? "rope_type" : "type", "`rotary` scales by linear, llama3 or yarn");
    scaling.ignoreAll();
    return "";
  }
  double factor = scaling.number("factor");
  std::string text = fmt::format(", scaling = \"{}\", factor = {}", type, numberText(factor));
  if (type == "linear") {
    scaling.ignore({"original_max_position_embeddings"});
    return text;
  }
  bool yarn = type == "yarn";
  int64_t original =
      scaling.whole("original_max_position_embeddings", longest ? std::optional<int64_t>(longest) : std::nullopt);
  double slow = scaling.number(yarn ? "beta_slow" : "low_freq_factor", yarn ? std::optional(1.0) : std::nullopt);
  double fast = scaling.number(yarn ? "beta_fast" : "high_freq_factor", yarn ? std::optional(32.0) : std::nullopt);
  text += fmt::format(", original = {}, slow = {}, fast = {}", original, numberText(slow), numberText(fast));
  if (!yarn)
    return text;
  if (!scaling.flag("truncate", true))
    text += ", truncate = false";
  if (double gain = yarnGain(scaling, factor, style, call); gain != 1.0)
    text += fmt::format(", gain = {}", numberText(gain));
  return text;
}

void stg::readRope(ConfigReader &config, double theta, RopeStyle style, ModelCall &call) {
  int64_t longest = config.whole("max_position_embeddings", 0);
  double base = config.number("rope_theta", theta);
  config.require("partial_rotary_factor", "1.0", "all channels of a head are rotated");
  std::string scaled;
  // `rope_parameters` is how newer releases write both.
  for (StringRef field : {"rope_scaling", "rope_parameters"})
    if (std::optional<ConfigReader> scaling = config.object(field)) {
      base = scaling->number("rope_theta", base);
      scaling->require("partial_rotary_factor", "1.0", "all channels of a head are rotated");
      scaled = scalingArguments(*scaling, longest, style, call);
      scaling->finish();
    }
  if (scaled.empty() && style != RopeStyle::Unit)
    return call.give("base", numberText(base));
  call.attention.insert("rotary");
  std::string rotary = fmt::format("rotary(base = {}, start = past{})", numberText(base), scaled);
  if (style == RopeStyle::Unit) {
    call.family.insert("unit_rotary");
    rotary = fmt::format("unit_rotary(rope = {})", rotary);
  }
  call.give("rope", rotary);
}

void stg::readWindow(ConfigReader &config, int64_t absent, ModelCall &call) {
  // `null` says that there is no window, a missing field what the library takes then.
  bool stated = config.has("sliding_window");
  call.give("reach", std::to_string(config.whole("sliding_window", stated ? 0 : absent)));
}

void stg::requireLayerTypes(ConfigReader &config, llvm::function_ref<StringRef(int64_t)> expected, StringRef why) {
  const Value *value = config.take("layer_types");
  if (!value)
    return;
  const llvm::json::Array *types = value->getAsArray();
  bool same = types && static_cast<int64_t>(types->size()) == config.whole("num_hidden_layers", 0);
  for (size_t i = 0; same && i < types->size(); ++i)
    same = (*types)[i].getAsString() == expected(static_cast<int64_t>(i));
  if (!same)
    config.refuse("layer_types", why);
}

void stg::readLateWindows(ConfigReader &config, ModelCall &call) {
  int64_t reach = config.whole("sliding_window", config.has("sliding_window") ? 0 : 4096),
          whole = config.whole("max_window_layers", 28, 0);
  if (!config.flag("use_sliding_window", false))
    reach = 0;
  requireLayerTypes(
      config, [&](int64_t i) { return reach && i >= whole ? "sliding_attention" : "full_attention"; },
      "with `use_sliding_window` blocks from `max_window_layers` on have a window, without it none");
  if (!reach)
    return;
  call.give("reach", std::to_string(reach));
  call.give("whole", std::to_string(whole));
}

void stg::readDropout(ConfigReader &config, StringRef embedding, StringRef residual, StringRef scores,
                      ModelCall &call) {
  double drop = config.number(residual, 0.1), first = config.number(embedding, 0.1);
  double inside = config.number(scores, 0.1);
  if (first != drop)
    config.refuse(embedding, fmt::format("one rate `drop` holds for all, and `{}` is {}", residual.str(), drop));
  if (inside != 0 && inside != drop)
    config.refuse(scores, fmt::format("one rate `drop` holds for all, and `{}` is {}", residual.str(), drop));
  call.give("drop", numberText(drop));
  // Flash attention drops no scores here.
  if (inside != 0)
    call.give("fused", "false");
}
