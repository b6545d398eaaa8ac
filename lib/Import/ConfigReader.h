//===- ConfigReader.h - the fields of a config, each accounted for --------------------===//
#ifndef STG_IMPORT_CONFIGREADER_H
#define STG_IMPORT_CONFIGREADER_H

#include "stg/Support/Diagnostics.h"
#include "stg/Support/SourceManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace stg {

/// An object of a config. Reading a field accounts for it; `finish` refuses what nobody read. Getters report values of
/// the wrong kind and then return the fallback, so that one run finds all faults.
class ConfigReader {
public:
  /// `range`: the object's text. `prefix`: what stands before its fields' names in messages: `rope_scaling.`.
  ConfigReader(const llvm::json::Object &object, SourceRange range, std::string prefix, llvm::StringRef architecture,
               const SourceManager &sources, Diagnostics &diags)
      : object_(object), range_(range), prefix_(std::move(prefix)), architecture_(architecture), sources_(sources),
        diags_(diags) {}

  llvm::StringRef architecture() const { return architecture_; }

  /// Whether the config mentions the field at all, be it as `null`.
  bool has(llvm::StringRef field) const { return object_.get(field) != nullptr; }
  /// The value, now accounted for; null if the field is absent or `null`.
  const llvm::json::Value *take(llvm::StringRef field);
  /// A whole number from `least` on. Without a fallback a missing field is an error.
  int64_t whole(llvm::StringRef field, std::optional<int64_t> absent = std::nullopt, int64_t least = 1);
  double number(llvm::StringRef field, std::optional<double> absent = std::nullopt);
  bool flag(llvm::StringRef field, bool absent);
  std::string text(llvm::StringRef field, llvm::StringRef absent);
  /// The object that is the value of `field`; nothing if it is absent or null.
  std::optional<ConfigReader> object(llvm::StringRef field);
  /// E646 if the field is there and `null`, which is no value of it.
  bool refuseNull(llvm::StringRef field);
  /// Accounts for fields that change nothing.
  void ignore(llvm::ArrayRef<llvm::StringRef> fields);
  /// Accounts for all of them: the object is refused as a whole.
  void ignoreAll();

  /// E644: the field's value makes another model of it. `why` follows its name and value.
  DiagnosticBuilder refuse(llvm::StringRef field, llvm::StringRef why);
  /// Refuses any value but those given (as JSON, separated by `|`); an absent field has the first. 1 is also 1.0.
  void require(llvm::StringRef field, llvm::StringRef accepted, llvm::StringRef why);
  /// W647: read, and left out of the model.
  void leaveOut(llvm::StringRef field, llvm::StringRef what);
  /// E643 for each field that was not read.
  void finish();

private:
  /// The name of the field in the text, or the whole object's place.
  SourceRange placeOf(llvm::StringRef field) const;
  /// Where the value of the field begins.
  SourceRange valueOf(llvm::StringRef field) const;
  void wrongKind(llvm::StringRef field, const llvm::json::Value &value, llvm::StringRef expected);
  void missing(llvm::StringRef field);

  const llvm::json::Object &object_;
  SourceRange range_;
  std::string prefix_;
  llvm::StringRef architecture_;
  const SourceManager &sources_;
  Diagnostics &diags_;
  llvm::StringSet<> read_;
};

/// A value as a message shows it: JSON in one line, cut when long.
std::string shown(const llvm::json::Value &value);

} // namespace stg

#endif
