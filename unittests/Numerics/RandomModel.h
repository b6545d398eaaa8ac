//===- RandomModel.h - random models and plans as .stg text -----------------===//
// Small models that train: contractions, sums, norms, softmax, attention,
// lookups, views, in nested layers, repeats and units, on dims of 8, 4 and 2
// positions. Text and not IR, so that what is judged is the whole way from a
// file.
//===----------------------------------------------------------------------===//
#ifndef STG_UNITTESTS_NUMERICS_RANDOMMODEL_H
#define STG_UNITTESTS_NUMERICS_RANDOMMODEL_H

#include <cstdint>
#include <string>
#include <vector>

namespace stg {

struct RandomModel {
  std::string text;                ///< declarations, the last one of `model m(B = 8)`
  std::vector<std::string> labels; ///< of layer calls and units, for scopes of rules
};
RandomModel randomModel(uint64_t seed);

/// What a plan's rules say of axes that do not divide a dim. With Pad there are axes of 3 ranks as well.
enum class Rest { Replicate, Pad };

/// Whether the model is cut into a pipeline of 2 ranks, with a random schedule.
enum class Cut { Never, Always };

/// `plan p` and a workload that trains `model m` by it.
std::string randomPlan(uint64_t seed, const RandomModel &model, Rest rest = Rest::Replicate, Cut cut = Cut::Never);

} // namespace stg

#endif
