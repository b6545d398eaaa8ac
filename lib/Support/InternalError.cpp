//===- InternalError.cpp - faults of the compiler itself ------------------===//
#include "stg/Support/InternalError.h"

#include "llvm/ADT/Twine.h"

namespace stg {

namespace {
struct RunningPass {
  std::string pass, level;
};
thread_local RunningPass runningPass;
} // namespace

InternalErrorScope::InternalErrorScope(llvm::StringRef pass, llvm::StringRef level)
    : outerPass_(std::move(runningPass.pass)), outerLevel_(std::move(runningPass.level)) {
  runningPass = {pass.str(), level.str()};
}

InternalErrorScope::~InternalErrorScope() { runningPass = {std::move(outerPass_), std::move(outerLevel_)}; }

void internalError(llvm::StringRef pass, llvm::StringRef level, llvm::StringRef op, llvm::StringRef text) {
  std::string message = ("stgc: internal error: " + llvm::Twine(text) + "\n").str();
  auto line = [&](llvm::StringRef label, llvm::StringRef value) {
    if (!value.empty())
      message += ("  " + llvm::Twine(label) + " " + value + "\n").str();
  };
  line("pass ", pass);
  line("level", level);
  line("op   ", op);
  message += "  this is a fault of the compiler, not of your program; please report it with the input\n";
  throw InternalError(std::move(message));
}

void internalError(llvm::StringRef op, llvm::StringRef text) {
  internalError(runningPass.pass, runningPass.level, op, text);
}

ExitStatus reportInternalError(const InternalError &error, llvm::raw_ostream &os) {
  os << error.what();
  os.flush();
  return ExitStatus::InternalError;
}

} // namespace stg
