#include "SyntaxSlips.h"
namespace stg {
void reportSlip(const Slip &slip, Diagnostics &diags) {
  SourceRange place{slip.file, (uint32_t)slip.token.getStartIndex(), (uint32_t)slip.token.getStopIndex() + 1};
  diags.report(place, diag::UnexpectedToken{.expected = "something else", .found = slip.token.getText()});
}
} // namespace stg
