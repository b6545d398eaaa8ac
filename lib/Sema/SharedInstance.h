//===- SharedInstance.h - weights that several calls use ------------------------===//
#ifndef STG_LIB_SEMA_SHAREDINSTANCE_H
#define STG_LIB_SEMA_SHAREDINSTANCE_H

#include "stg/Sema/Values.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace stg {

/// The weights of an instance made by `share`, by the declaration that makes each; nested instances by label. Filled by
/// the first call, found again by the others.
struct SharedInstance {
  std::string path;   ///< with a final dot
  bool owned = false; ///< by the unit in which `share` stands
  std::map<std::string, Stored> stored;
  std::map<std::string, std::unique_ptr<SharedInstance>> children;

  SharedInstance *child(const std::string &label) {
    auto &slot = children[label];
    if (!slot) {
      slot = std::make_unique<SharedInstance>();
      slot->path = path + label + ".";
      slot->owned = owned;
    }
    return slot.get();
  }
};

} // namespace stg

#endif
