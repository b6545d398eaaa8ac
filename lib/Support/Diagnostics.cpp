//===- Diagnostics.cpp - collecting messages to the user ------------------===//
#include "stg/Support/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace stg {

// The catalogue against itself: these do not compile when a row is wrong.
#define ARG(Type, argument) #argument,
#define DIAG(number, severity, Name, text, ...)                                                                        \
  static_assert(detail::findTextFault(text, {__VA_ARGS__}) != detail::TextFault::FullStop,                             \
                #Name ": the text is empty or ends with a full stop");                                                 \
  static_assert(detail::findTextFault(text, {__VA_ARGS__}) != detail::TextFault::UnknownArgument,                      \
                #Name ": the text mentions an argument that the row does not have");                                   \
  static_assert(detail::findTextFault(text, {__VA_ARGS__}) != detail::TextFault::UnusedArgument,                       \
                #Name ": the text does not mention every argument");                                                   \
  static_assert(detail::findTextFault(text, {__VA_ARGS__}) != detail::TextFault::Braces,                               \
                #Name ": unbalanced brace in the text; write {{ or }} for a literal one");
#include "stg/Support/Diagnostics.def"

namespace {

constexpr DiagnosticInfo kCatalogue[] = {
#define ARG(Type, argument)
#define DIAG(number, severity, Name, text, ...) diag::Name::kInfo,
#include "stg/Support/Diagnostics.def"
};

consteval bool numbersAreUnique() {
  for (size_t i = 0; i != std::size(kCatalogue); ++i)
    for (size_t j = 0; j != i; ++j)
      if (kCatalogue[i].number == kCatalogue[j].number)
        return false;
  return true;
}
static_assert(numbersAreUnique(), "two rows of Diagnostics.def have the same number");

struct Argument {
  llvm::StringRef name;
  llvm::StringRef text;
};

std::string substitute(llvm::StringRef text, std::initializer_list<Argument> arguments) {
  std::string out;
  while (!text.empty()) {
    size_t brace = text.find_first_of("{}");
    out += text.take_front(brace);
    text = text.substr(brace);
    if (text.empty())
      break;
    if (text.starts_with("{{") || text.starts_with("}}")) {
      out += text.front();
      text = text.drop_front(2);
      continue;
    }
    auto [name, rest] = text.drop_front().split('}');
    const Argument *found = llvm::find_if(arguments, [&](const Argument &argument) { return argument.name == name; });
    out += found->text;
    text = rest;
  }
  return out;
}

} // namespace

namespace diag {
#define ARG(Type, argument) {#argument, row.argument.text()},
#define DIAG(number, severity, Name, text, ...)                                                                        \
  std::string renderMessage([[maybe_unused]] const Name &row) { return substitute(text, {__VA_ARGS__}); }
#include "stg/Support/Diagnostics.def"
} // namespace diag

llvm::ArrayRef<DiagnosticInfo> diagnosticCatalogue() { return kCatalogue; }

std::string DiagnosticInfo::code() const {
  const char *letter = severity == Severity::Warning ? "W" : severity == Severity::Note ? "N" : "E";
  return letter + std::to_string(number);
}

DiagnosticBuilder &DiagnosticBuilder::label(std::string text) {
  diagnostic_.label = std::move(text);
  afterHelp_ = false;
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::label(SourceRange range, std::string text) {
  diagnostic_.labels.push_back({range, std::move(text)});
  afterHelp_ = false;
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::note(std::string text) {
  diagnostic_.notes.push_back({DiagnosticNote::Kind::Note, std::move(text)});
  afterHelp_ = false;
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::noteAt(SourceRange range, std::string text) {
  diagnostic_.notes.push_back({DiagnosticNote::Kind::Place, std::move(text), range});
  afterHelp_ = false;
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::detail(std::string text) {
  diagnostic_.notes.push_back({DiagnosticNote::Kind::Detail, std::move(text)});
  afterHelp_ = false;
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::within(SourceRange call, std::string text) {
  // The place is appended when printed; JSON has it as a range.
  diagnostic_.notes.push_back({DiagnosticNote::Kind::Detail, "in " + std::move(text), call});
  afterHelp_ = false;
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::help(std::string text) {
  diagnostic_.notes.push_back({DiagnosticNote::Kind::Help, std::move(text)});
  afterHelp_ = true;
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::fixit(SourceRange range, std::string replacement,
                                            std::optional<std::string> shown) {
  if (afterHelp_) {
    diagnostic_.notes.back().edits.push_back({range, std::move(replacement)});
    return *this;
  }
  std::string text = shown ? std::move(*shown) : replacement;
  diagnostic_.inlineHelps.push_back(
      {DiagnosticNote::Kind::Help, std::move(text), {}, {{range, std::move(replacement)}}});
  return *this;
}

DiagnosticBuilder &DiagnosticBuilder::snippet(Snippet snippet) {
  diagnostic_.snippet = snippet;
  return *this;
}

DiagnosticBuilder Diagnostics::add(SourceRange range, const DiagnosticInfo &info, std::string message) {
  Diagnostic &added = all_.emplace_back();
  added.info = info;
  added.message = std::move(message);
  added.range = range;
  numErrors_ += added.isError();
  numFailures_ += info.severity == Severity::Failure;
  return DiagnosticBuilder(added);
}

ExitStatus Diagnostics::exitStatus() const {
  if (numFailures_ != 0)
    return ExitStatus::Environment;
  return hasErrors() ? ExitStatus::InputWrong : ExitStatus::Done;
}

std::vector<const Diagnostic *> Diagnostics::sorted() const {
  std::vector<const Diagnostic *> order;
  for (const Diagnostic &diagnostic : all_)
    order.push_back(&diagnostic);
  auto place = [](const Diagnostic *d) {
    return std::tuple(d->range.valid(), d->range.file, d->range.begin, d->range.end);
  };
  llvm::stable_sort(order, [&](const Diagnostic *a, const Diagnostic *b) { return place(a) < place(b); });

  // Equal places are neighbours now. Without a place the words decide.
  auto sameThing = [](const Diagnostic *a, const Diagnostic *b) {
    return a->info.number == b->info.number && a->range == b->range && (a->range.valid() || a->message == b->message);
  };
  std::vector<const Diagnostic *> kept;
  for (const Diagnostic *diagnostic : order) {
    bool seen = false;
    for (const Diagnostic *earlier : llvm::reverse(kept)) {
      if (earlier->range != diagnostic->range)
        break;
      seen |= sameThing(earlier, diagnostic);
    }
    if (!seen)
      kept.push_back(diagnostic);
  }
  return kept;
}

void reportLoadFailure(const LoadResult &result, llvm::StringRef path, SourceRange mention, Diagnostics &diags) {
  switch (result.status) {
  case LoadStatus::Loaded:
    return;
  case LoadStatus::Unreadable:
    diags.report(mention, diag::FileUnreadable{.path = path, .reason = result.reason});
    return;
  case LoadStatus::NotUtf8:
    diags.report(mention, diag::FileNotUtf8{.path = path, .offset = result.badByte})
        .help("save the file as UTF-8, e.g. iconv -f latin1 -t utf-8");
    return;
  }
}

} // namespace stg
