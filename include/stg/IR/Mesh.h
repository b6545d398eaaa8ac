//===- Mesh.h - ordered named axes ------------------------------------------===//
// Axes stand major to minor: the last joins neighbouring ranks.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_MESH_H
#define STG_IR_MESH_H

#include <cstdint>
#include <string>
#include <vector>

namespace stg {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &) const = default;
};

struct Mesh {
  std::vector<MeshAxis> axes; ///< none: one rank

  int64_t ranks() const {
    int64_t product = 1;
    for (const MeshAxis &axis : axes)
      product *= axis.size;
    return product;
  }
  bool operator==(const Mesh &) const = default;
};

} // namespace stg

#endif
