// large-bundle FILE: a bundle of four ranks with files of 5 GiB, in a few kilobytes of disk: all 80 segments are one
// hole, at whose end each rank's number stands.
#include "stg/Bundle/BundleFormat.h"
#include <fstream>

using namespace stg::bundle;

int main(int count, char **arguments) {
  if (count != 2)
    return 2;
  constexpr uint64_t kSegmentBytes = uint64_t{64} << 20, kSegments = 80, kPlace = kAlignment * 2;
  std::vector<FieldPatch> patches = {{.offset = kSegmentBytes - kRankFieldBytes, .field = 0}};
  RankClass all;
  all.ranks = {.first = 0, .spans = {{.stride = 1, .size = 4, .weight = 1}}};
  all.fields = {{.kind = RankField::Kind::Rank, .value = 0}};
  all.fileBytes = kSegments * kSegmentBytes;
  all.nodes = kSegments;
  Segment segment{
      .bytes = kSegmentBytes, .place = kPlace, .patchPlace = kPlace + kSegmentBytes, .patches = 1, .nodes = 1};
  segment.checksum = checksumOf(std::vector<char>(kSegmentBytes), patches);
  for (; segment.start < all.fileBytes; segment.start += kSegmentBytes)
    all.segments.push_back(segment);
  TraceInfo trace;
  trace.prefix = "large";
  trace.worldSize = 4;
  trace.classes = {all};

  std::string index = encodeIndex(std::span(&trace, 1));
  Trailer trailer;
  trailer.indexPlace = segment.patchPlace + sizeof(FieldPatch);
  trailer.indexBytes = index.size();
  trailer.indexChecksum = checksumOf(index, {});
  std::ofstream file(arguments[1], std::ios::binary);
  file << kFirstLine;
  file.seekp(static_cast<std::streamoff>(segment.patchPlace));
  file.write(reinterpret_cast<const char *>(patches.data()), sizeof(FieldPatch));
  file << index;
  file.write(reinterpret_cast<const char *>(&trailer), sizeof trailer);
  return file.good() ? 0 : 3;
}
