// extract-cpp BUNDLE FOLDER: writes all files, with several threads at one bundle.
#include "stg/Bundle/Bundle.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace stg::bundle;

static bool extract(const Bundle &bundle, const TraceInfo &trace, uint32_t rank, const std::filesystem::path &folder) {
  std::ofstream file(folder / Bundle::fileName(trace, rank), std::ios::binary);
  std::vector<char> piece(777);
  BundleError error;
  for (uint64_t at = 0, size = Bundle::fileSize(trace, rank); at < size;) {
    std::optional<size_t> count = bundle.read(trace, rank, at, piece, error);
    if (!count || *count == 0)
      return false;
    file.write(piece.data(), static_cast<std::streamsize>(*count));
    at += *count;
  }
  return file.good();
}

int main(int count, char **arguments) {
  BundleError error;
  std::unique_ptr<Bundle> bundle = count == 3 ? Bundle::open(arguments[1], error) : nullptr;
  if (!bundle) {
    std::printf("%s\n", error.what.c_str());
    return 1;
  }
  std::atomic<bool> good = true;
  for (const TraceInfo &trace : bundle->traces()) {
    std::filesystem::path folder = std::filesystem::path(arguments[2]) / trace.folder;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / kGroupFile, std::ios::binary) << Bundle::groupFile(trace);
    std::vector<std::thread> threads;
    for (uint32_t first = 0; first < 4; ++first)
      threads.emplace_back([&, first] {
        for (uint32_t rank = first; rank < trace.worldSize; rank += 4)
          if (!extract(*bundle, trace, rank, folder))
            good = false;
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  return good ? 0 : 2;
}
