//===- ConfigReader.cpp ----------------------------------------------------------------===//
#include "ConfigReader.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;
using llvm::json::Value;

std::string stg::shown(const Value &value) {
  std::string text;
  if (value.kind() == Value::Number && !value.getAsInteger())
    return fmt::format("{}", *value.getAsNumber());
  llvm::raw_string_ostream(text) << value;
  constexpr size_t kLongest = 60;
  if (text.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end;
    text = text.substr(0, end) + " …";
  }
  return text;
}

/// Walks the object that `range` holds to its own key `field`: the offsets of the key, and of what follows its colon.
static std::optional<std::pair<SourceRange, uint32_t>> findKey(SourceRange range, StringRef text, StringRef field) {
  unsigned depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '{' || c == '[')
      ++depth;
    else if (c == '}' || c == ']')
      --depth;
    if (c != '"')
      continue;
    size_t end = at + 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    size_t colon = text.find_first_not_of(" \t\r\n", end + 1);
    if (depth == 1 && colon != StringRef::npos && text[colon] == ':' && text.slice(at + 1, end) == field) {
      size_t value = text.find_first_not_of(" \t\r\n", colon + 1);
      return std::pair(SourceRange{range.file, range.begin + static_cast<uint32_t>(at),
                                   range.begin + static_cast<uint32_t>(end + 1)},
                       range.begin + static_cast<uint32_t>(value));
    }
    at = end;
  }
  return std::nullopt;
}

SourceRange ConfigReader::placeOf(StringRef field) const {
  auto found = findKey(range_, sources_.text(range_), field);
  return found ? found->first : range_.start();
}

SourceRange ConfigReader::valueOf(StringRef field) const {
  auto found = findKey(range_, sources_.text(range_), field);
  return found ? SourceRange{range_.file, found->second, range_.end} : range_;
}

const Value *ConfigReader::take(StringRef field) {
  read_.insert(field);
  const Value *value = object_.get(field);
  return value && value->kind() != Value::Null ? value : nullptr;
}

void ConfigReader::wrongKind(StringRef field, const Value &value, StringRef expected) {
  diags_.report(placeOf(field),
                diag::ConfigFieldKind{.field = prefix_ + field.str(), .value = shown(value), .expected = expected});
}

void ConfigReader::missing(StringRef field) {
  diags_.report(range_.start(),
                diag::ConfigFieldMissing{.architecture = architecture_, .field = prefix_ + field.str()});
}

int64_t ConfigReader::whole(StringRef field, std::optional<int64_t> absent, int64_t least) {
  const Value *value = take(field);
  if (!value) {
    if (!absent)
      missing(field);
    return absent.value_or(least);
  }
  if (std::optional<int64_t> number = value->getAsInteger(); number && *number >= least)
    return *number;
  wrongKind(field, *value, "a whole number of at least " + std::to_string(least));
  return absent.value_or(least);
}

double ConfigReader::number(StringRef field, std::optional<double> absent) {
  const Value *value = take(field);
  if (!value) {
    if (!absent)
      missing(field);
    return absent.value_or(1);
  }
  if (std::optional<double> number = value->getAsNumber(); number && std::isfinite(*number) && *number >= 0)
    return *number;
  wrongKind(field, *value, "a number of at least 0");
  return absent.value_or(1);
}

bool ConfigReader::flag(StringRef field, bool absent) {
  const Value *value = take(field);
  if (!value)
    return absent;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  wrongKind(field, *value, "true or false");
  return absent;
}

std::string ConfigReader::text(StringRef field, StringRef absent) {
  const Value *value = take(field);
  if (!value)
    return absent.str();
  if (std::optional<StringRef> text = value->getAsString())
    return text->str();
  wrongKind(field, *value, "a string");
  return absent.str();
}

std::optional<ConfigReader> ConfigReader::object(StringRef field) {
  const Value *value = take(field);
  if (!value)
    return std::nullopt;
  if (const llvm::json::Object *inner = value->getAsObject())
    return ConfigReader(*inner, valueOf(field), prefix_ + field.str() + ".", architecture_, sources_, diags_);
  wrongKind(field, *value, "an object");
  return std::nullopt;
}

bool ConfigReader::refuseNull(StringRef field) {
  if (!has(field) || take(field))
    return false;
  wrongKind(field, nullptr, "a value");
  return true;
}

void ConfigReader::ignore(llvm::ArrayRef<StringRef> fields) {
  for (StringRef field : fields)
    read_.insert(field);
}

void ConfigReader::ignoreAll() {
  for (auto &[field, value] : object_)
    read_.insert(field);
}

DiagnosticBuilder ConfigReader::refuse(StringRef field, StringRef why) {
  const Value *value = object_.get(field);
  return diags_.report(
      placeOf(field),
      diag::ConfigFieldRefused{.field = prefix_ + field.str(), .value = value ? shown(*value) : "none", .why = why});
}

void ConfigReader::require(StringRef field, StringRef accepted, StringRef why) {
  const Value *value = take(field);
  if (!value)
    return;
  llvm::SmallVector<StringRef, 4> choices;
  accepted.split(choices, '|');
  for (StringRef choice : choices) {
    llvm::Expected<Value> wanted = llvm::json::parse(choice);
    bool same =
        wanted && (*wanted == *value || (wanted->getAsNumber() && value->getAsNumber() == wanted->getAsNumber()));
    if (!wanted)
      llvm::consumeError(wanted.takeError());
    if (same)
      return;
  }
  refuse(field, why);
}

void ConfigReader::leaveOut(StringRef field, StringRef what) {
  diags_.report(placeOf(field), diag::ConfigPartLeftOut{.field = prefix_ + field.str(), .what = what});
}

void ConfigReader::finish() {
  llvm::SmallVector<StringRef, 8> left;
  for (auto &[field, value] : object_)
    if (!read_.contains(field))
      left.push_back(field);
  llvm::sort(left);
  for (StringRef field : left)
    diags_
        .report(placeOf(field), diag::ConfigFieldUnknown{.field = prefix_ + field.str(), .architecture = architecture_})
        .help("if it changes neither computation nor memory nor traffic, delete it from a copy of the config");
}
