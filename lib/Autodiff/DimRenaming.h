//===- DimRenaming.h - a body's dims under other names -----------------------===//
#ifndef STG_LIB_AUTODIFF_DIMRENAMING_H
#define STG_LIB_AUTODIFF_DIMRENAMING_H

#include "stg/IR/Program.h"
#include <map>

namespace stg::autodiff {

/// New names for dims; those without one keep theirs.
class DimRenaming {
public:
  void set(NameId from, NameId to) { names_[from] = to; }
  NameId operator()(NameId name) const {
    auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }
  Dim operator()(Dim dim) const { return {(*this)(dim.name), dim.size}; }
  TensorType operator()(TensorType type) const;
  /// Fields of any op that may occur in a grad body.
  OpFields operator()(OpFields fields) const;

private:
  std::map<NameId, NameId> names_;
};

} // namespace stg::autodiff

#endif
