//===- UnevenTraffic.h - what uneven all-to-alls carry ------------------------===//
// Bytes as in Communication.h: of all-to-alls the input of a rank, its own part with it.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_UNEVENTRAFFIC_H
#define STG_ANALYSIS_UNEVENTRAFFIC_H

#include "stg/Analysis/Communication.h"
#include "stg/Analysis/ExpertLoads.h"
#include <map>

namespace stg {

/// Of one collective.
struct ExchangeBytes {
  int64_t padded = 0;            ///< the same on all ranks
  int64_t least = 0, most = 0;   ///< truly, of one rank
  Int128 mean = 0, meanOver = 1; ///< truly, the sum over so many ranks
};

/// All families of experts of a program whose loads are uneven, and what goes to them in a step.
struct UnevenTraffic {
  std::vector<ExpertFamily> families; ///< distinct
  /// Over all ranks, as padded and truly; all-gathers and reduce-scatters of uneven parts with them.
  Int128 paddedBytes = 0, trueBytes = 0;
};

class UnevenCommunication {
public:
  explicit UnevenCommunication(const Program &program) : program_(program) {}
  /// Nothing where the parts are even.
  std::optional<ExchangeBytes> bytesOf(const CommunicationRow &row);
  UnevenTraffic total();

private:
  const ExpertLoads &loadsOf(BodyId body);

  const Program &program_;
  std::map<uint32_t, ExpertLoads> loads_; ///< by body
};

} // namespace stg

#endif
