//===- CountText.h - numbers for people ---------------------------------------===//
#ifndef STG_SUPPORT_COUNTTEXT_H
#define STG_SUPPORT_COUNTTEXT_H

#include <string>
#include <string_view>

namespace stg {

/// `1,234,567`, of decimal digits.
std::string withCommas(std::string digits);
/// `1 node`, `3,145 nodes`.
std::string counted(const std::string &digits, std::string_view noun);

} // namespace stg

#endif
