//===- BundleFormat.h - the bytes of a bundle -------------------------------===//
// docs/bundle.md. All numbers are little-endian.
//
//   line      `stgc bundle 1\n`, for people and for `file`
//   segments  of each: its bytes, zeros up to a multiple of 8, its patches (two uint32 each)
//   index     what traces(), classes and segments are, as encodeIndex() writes it
//   trailer   32 bytes: place and size of the index, CRC-32 of the index, version, magic
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/Bundle.h"
#include <bit>

namespace stg::bundle {

// Patches are read where they are mapped.
static_assert(std::endian::native == std::endian::little, "a bundle is little-endian");
static_assert(sizeof(FieldPatch) == 8);

inline constexpr uint32_t kVersion = 1;
inline constexpr char kFirstLine[] = "stgc bundle 1\n";
inline constexpr size_t kFirstLineBytes = sizeof(kFirstLine) - 1;
/// Of everything that is mapped as numbers.
inline constexpr uint64_t kAlignment = 8;

struct Trailer {
  uint64_t indexPlace = 0, indexBytes = 0;
  uint32_t indexChecksum = 0;
  uint32_t version = kVersion;
  char magic[8] = {'S', 'T', 'G', 'B', 'N', 'D', 'L', '\n'};
};
static_assert(sizeof(Trailer) == 32);

/// The index of a bundle; the texts of traces are UTF-8.
std::string encodeIndex(std::span<const TraceInfo> traces);

/// The reverse. Everything is checked that reading relies on, with `indexPlace` as the end of all segments: false with
/// the reason if the index is no such thing.
bool decodeIndex(std::span<const char> bytes, uint64_t indexPlace, std::vector<TraceInfo> &traces, std::string &why);

/// CRC-32 of a segment: of its bytes, then of its patches.
uint32_t checksumOf(std::span<const char> bytes, std::span<const FieldPatch> patches);

} // namespace stg::bundle
