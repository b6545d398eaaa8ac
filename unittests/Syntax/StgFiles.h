//===- StgFiles.h - every .stg file of the repository ---------------------===//
#pragma once

#include <string>
#include <vector>

namespace stg {

/// Paths of the .stg files in stdlib/, examples/ and test/, sorted. Those meant to be wrong (their name ends in
/// -errors, or they hold an expected-error comment or `not stgc`) are left out.
std::vector<std::string> correctStgFiles();

} // namespace stg
