//===- CountText.cpp ----------------------------------------------------------===//
#include "stg/Support/CountText.h"

namespace stg {

std::string withCommas(std::string digits) {
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string counted(const std::string &digits, std::string_view noun) {
  return withCommas(digits) + " " + std::string(noun) + (digits == "1" ? "" : "s");
}

} // namespace stg
