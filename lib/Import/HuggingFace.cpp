//===- HuggingFace.cpp -----------------------------------------------------------------===//
#include "stg/Import/HuggingFace.h"
#include "Architecture.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;

std::vector<StringRef> stg::huggingFaceArchitectures() {
  std::vector<StringRef> names;
  for (const Architecture &one : architectures())
    names.push_back(one.name);
  return names;
}

/// Fields of any config that change neither computation nor memory nor traffic: tokens by name, how weights are made
/// and stored at first, what the library returns. Element types are the plan's, and so is what is computed again.
static constexpr StringRef kWithoutEffect[] = {"architectures",
                                               "model_type",
                                               "torch_dtype",
                                               "dtype",
                                               "bos_token_id",
                                               "eos_token_id",
                                               "pad_token_id",
                                               "sep_token_id",
                                               "initializer_range",
                                               "use_cache",
                                               "transformers_version",
                                               "_name_or_path",
                                               "auto_map",
                                               "id2label",
                                               "label2id",
                                               "max_position_embeddings",
                                               "return_dict",
                                               "problem_type",
                                               "output_attentions",
                                               "output_hidden_states",
                                               "output_router_logits",
                                               "task_specific_params",
                                               "_attn_implementation",
                                               "attn_implementation",
                                               "cache_implementation",
                                               "_attn_implementation_autoset",
                                               "gradient_checkpointing"};

static const Architecture *architectureOf(const llvm::json::Object &config, SourceRange range, StringRef path,
                                          Diagnostics &diags) {
  const llvm::json::Array *names = config.getArray("architectures");
  std::optional<StringRef> name = names && !names->empty() ? (*names)[0].getAsString() : std::nullopt;
  if (!name) {
    diags.report(range, diag::ConfigMalformed{.path = path, .reason = "it has no `architectures`"})
        .help("\"architectures\": [\"LlamaForCausalLM\"]");
    return nullptr;
  }
  for (const Architecture &one : architectures())
    if (one.name == *name)
      return &one;
  std::vector<StringRef> known = huggingFaceArchitectures();
  auto builder = diags.report(range, diag::UnknownArchitecture{.architecture = *name});
  if (auto close = closestName(*name, known))
    builder.help("did you mean `" + close->str() + "`?");
  builder.note("known: " + llvm::join(known, " "));
  return nullptr;
}

static void readRow(const FieldRule &rule, ConfigReader &config, ModelCall &call) {
  auto fallback = [&]() -> std::optional<double> {
    double number = 0;
    return rule.value.empty() || rule.value.getAsDouble(number) ? std::nullopt : std::optional(number);
  }();
  if (rule.use != FieldUse::Fixed && config.refuseNull(rule.field))
    return;
  switch (rule.use) {
  case FieldUse::Size: {
    auto absent = fallback ? std::optional(static_cast<int64_t>(*fallback)) : std::nullopt;
    return call.give(rule.parameter, std::to_string(config.whole(rule.field, absent)));
  }
  case FieldUse::Number:
    return call.give(rule.parameter, numberText(config.number(rule.field, fallback)));
  case FieldUse::Flag:
    return call.give(rule.parameter, config.flag(rule.field, rule.value == "true") ? "true" : "false");
  case FieldUse::Fixed:
    return config.require(rule.field, rule.value, rule.parameter);
  }
}

/// The shipped model with most sizes alike: what the config does not say, such as the length of sequences, is its.
static const ShippedModel *nearest(llvm::ArrayRef<ShippedModel> models, const ModelCall &call) {
  auto is = [&](StringRef parameter, int64_t size) {
    return llvm::any_of(call.arguments, [&](const auto &argument) {
      return argument.first == parameter && argument.second == std::to_string(size);
    });
  };
  auto likeness = [&](const ShippedModel &model) {
    return is("L", model.layers) + is("D", model.width) + is("V", model.vocabulary);
  };
  const ShippedModel *best = &models.front();
  for (const ShippedModel &model : models)
    if (likeness(model) > likeness(*best))
      best = &model;
  return best;
}

/// Breaks lines as `stgc fmt` does not mind them.
static std::string fileText(const Architecture &architecture, const ShippedModel &model, const ModelCall &call) {
  std::vector<std::string> names{model.name.str()};
  names.insert(names.end(), call.family.begin(), call.family.end());
  std::string text = fmt::format("stg 1\nuse {}.{{{}}}\n", model.module.str(), llvm::join(names, ", "));
  if (!call.attention.empty())
    text += fmt::format("use std.attention.{{{}}}\n", llvm::join(call.attention, ", "));
  if (!call.precision.empty())
    text +=
        fmt::format("\n## What the files of the model store in fewer bits.\nplan stored {{\n{}}}\n", call.precision);
  std::vector<std::string> arguments;
  for (auto &[parameter, value] : call.arguments)
    arguments.push_back(parameter + " = " + value);
  text += fmt::format("\n## From the config of a {}.\nworkload imported {{\n  model {}({})\n", architecture.name.str(),
                      model.name.str(), llvm::join(arguments, ", "));
  if (!call.precision.empty())
    text += "  plan stored\n";
  return text + "}\n";
}

/// Brackets within brackets: a parser recurses.
static unsigned depthOf(StringRef text) {
  unsigned depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"')
      inString = !inString;
    else if (inString)
      i += text[i] == '\\';
    else if (text[i] == '{' || text[i] == '[')
      deepest = std::max(deepest, ++depth);
    else if ((text[i] == '}' || text[i] == ']') && depth > 0)
      --depth;
  }
  return deepest;
}
static constexpr unsigned kDeepest = 1000;

std::optional<std::string> stg::importHuggingFace(FileId file, const SourceManager &sources, Diagnostics &diags) {
  StringRef text = sources.text(file), path = sources.path(file);
  SourceRange range{file, 0, static_cast<uint32_t>(text.size())};
  size_t errors = diags.numErrors();
  if (depthOf(text) > kDeepest) {
    diags.report(range.start(), diag::ConfigMalformed{.path = path, .reason = "nested too deep"});
    return std::nullopt;
  }
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) {
    std::string reason = llvm::toString(parsed.takeError());
    diags.report(range.start(), diag::ConfigMalformed{.path = path, .reason = "no JSON: " + reason});
    return std::nullopt;
  }
  const llvm::json::Object *object = parsed->getAsObject();
  if (!object) {
    diags.report(range.start(), diag::ConfigMalformed{.path = path, .reason = "no object of fields"});
    return std::nullopt;
  }
  range.begin = static_cast<uint32_t>(text.find('{'));
  const Architecture *architecture = architectureOf(*object, range.start(), path, diags);
  if (!architecture)
    return std::nullopt;
  ConfigReader whole(*object, range, "", architecture->name, sources, diags);
  std::optional<ConfigReader> inner = architecture->inner.empty() ? std::nullopt : whole.object(architecture->inner);
  ConfigReader &config = inner ? *inner : whole;
  if (diags.numErrors() != errors)
    return std::nullopt;

  ModelCall call;
  whole.ignore(kWithoutEffect);
  config.ignore(kWithoutEffect);
  for (const FieldRule &rule : architecture->fields)
    readRow(rule, config, call);
  architecture->rest(config, call);
  const ShippedModel *model =
      architecture->choose ? architecture->choose(config, architecture->models) : nearest(architecture->models, call);
  for (ConfigReader *reader : {&whole, &config}) {
    if (call.precision.empty() && reader->take("quantization_config"))
      reader->refuse("quantization_config", "its weights are bf16, and other types are the plan's")
          .help("delete it from a copy of the config, and say in the plan what is stored and multiplied in fewer bits: "
                "precision { weight = f8e4m3, gemm = f8e4m3 } in attn, ffn");
    if (inner && reader == &whole) {
      whole.require("tie_word_embeddings", "false", "the last product has weights of its own");
      if (whole.take("vision_config"))
        whole.leaveOut("vision_config", "the shipped model is the text model");
      whole.ignore({"boi_token_index", "eoi_token_index", "image_token_index", "vision_config"});
    }
    reader->finish();
    if (!inner)
      break;
  }
  if (diags.numErrors() != errors)
    return std::nullopt;
  return fileText(*architecture, *model, call);
}
