//===- HuggingFace.h - models from config.json ---------------------------------------===//
// A Hugging Face `config.json` becomes a small .stg file: a workload of the shipped model of that family, with the
// config's sizes. Every field of a config is one of three things: it gives a parameter, it is known to change neither
// computation nor memory nor traffic, or it is refused by name. docs/import.md lists them.
//===----------------------------------------------------------------------===//
#ifndef STG_IMPORT_HUGGINGFACE_H
#define STG_IMPORT_HUGGINGFACE_H

#include "stg/Support/Diagnostics.h"
#include "stg/Support/SourceManager.h"
#include <optional>
#include <string>
#include <vector>

namespace stg {

/// The text of the .stg file for the config in `file`, or nothing after errors. Its one workload has a model and, where
/// the config stores weights in fewer bits, a plan that says so.
std::optional<std::string> importHuggingFace(FileId file, const SourceManager &sources, Diagnostics &diags);

/// The architectures that it knows, as a config's `architectures` names them, in the order of docs/import.md.
std::vector<llvm::StringRef> huggingFaceArchitectures();

} // namespace stg

#endif
