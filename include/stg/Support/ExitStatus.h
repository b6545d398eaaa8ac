//===- ExitStatus.h - what the tools return to the shell ------------------===//
#ifndef STG_SUPPORT_EXITSTATUS_H
#define STG_SUPPORT_EXITSTATUS_H

namespace stg {

/// Exit status of every tool. `static_cast<int>` gives the number.
enum class ExitStatus {
  Done = 0,
  /// The input is wrong; diagnostics say why.
  InputWrong = 1,
  /// The command line is wrong.
  Usage = 2,
  /// The environment failed: disk full, file unreadable.
  Environment = 3,
  /// A fault of ours.
  InternalError = 70,
};

} // namespace stg

#endif
