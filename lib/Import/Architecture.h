//===- Architecture.h - what each architecture's fields come to ------------------------===//
#ifndef STG_IMPORT_ARCHITECTURE_H
#define STG_IMPORT_ARCHITECTURE_H

#include "ConfigReader.h"
#include "llvm/ADT/ArrayRef.h"
#include <set>
#include <vector>

namespace stg {

/// A call of a shipped model in the making.
struct ModelCall {
  std::vector<std::pair<std::string, std::string>> arguments; ///< in the order of the file
  std::set<std::string> attention;                            ///< names that it uses of std.attention
  std::set<std::string> family;                               ///< further names of the model's own file
  std::string precision;                                      ///< lines of a plan, or empty
  void give(llvm::StringRef parameter, std::string value) { arguments.push_back({parameter.str(), std::move(value)}); }
};

/// `1e-05`, `10000.0`: always a floating-point number of the language.
std::string numberText(double value);

enum class FieldUse : uint8_t {
  Size,   ///< a whole number that is `parameter`
  Number, ///< a number that is `parameter`
  Flag,   ///< true or false that is `parameter`
  Fixed,  ///< must be one of `value`, or absent
};

/// One field of a config.
struct FieldRule {
  llvm::StringRef field;
  FieldUse use;
  llvm::StringRef parameter; ///< of the shipped model; of a Fixed field why it must be so
  llvm::StringRef value; ///< JSON: what an absent field means (empty: it must be there); of a Fixed field all it may be
};

struct ShippedModel {
  llvm::StringRef module, name; ///< `models.llama3`, `llama3_8b`
  int64_t layers, width, vocabulary;
};

struct Architecture {
  llvm::StringRef name;                      ///< as `architectures` has it
  llvm::StringRef inner;                     ///< the object that holds the model's fields, or empty: the config itself
  llvm::ArrayRef<ShippedModel> models;       ///< the one with most sizes alike is taken
  llvm::ArrayRef<FieldRule> fields;          ///< what a row can say
  void (*rest)(ConfigReader &, ModelCall &); ///< fields that depend on each other
  /// Of `models`, where structure decides; null: by size.
  const ShippedModel *(*choose)(ConfigReader &, llvm::ArrayRef<ShippedModel>);
};

llvm::ArrayRef<Architecture> architectures();

//===----------------------------------------------------------------------===//
// Fields that architectures share
//===----------------------------------------------------------------------===//

/// What a family does with scaled positions beyond turning more slowly.
enum class RopeStyle : uint8_t {
  Plain,
  Latent, ///< DeepSeek's: the softmax's temperature is `temper` of the model
  Unit,   ///< Llama 4's unit_rotary around it
};
/// `rope_theta` and `rope_scaling`, or `rope_parameters`: gives `base`, or `rope`. `theta`: of an absent field.
void readRope(ConfigReader &config, double theta, RopeStyle style, ModelCall &call);

/// `sliding_window`, where every block has it or none: gives `reach`. `absent`: keys of an absent field, 0 for none.
void readWindow(ConfigReader &config, int64_t absent, ModelCall &call);
/// Qwen's: `use_sliding_window`, `max_window_layers` and `layer_types`: gives `reach` and `whole`.
void readLateWindows(ConfigReader &config, ModelCall &call);
/// Three rates of dropout, one `drop` of the model: the embedding's, of what blocks add, of the scores.
void readDropout(ConfigReader &config, llvm::StringRef embedding, llvm::StringRef residual, llvm::StringRef scores,
                 ModelCall &call);
/// `layer_types`, if it is there, must be `expected` of each block.
void requireLayerTypes(ConfigReader &config, llvm::function_ref<llvm::StringRef(int64_t)> expected,
                       llvm::StringRef why);

} // namespace stg

#endif
