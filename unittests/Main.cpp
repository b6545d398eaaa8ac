//===- Main.cpp - what every unit test binary starts with ---------------------===//
// GoogleTest's own options, and for tests of random programs `--seed=N`: begin with that seed (as with STG_SEED=N);
// `--count=N`: try so many (STG_COUNT=N).
//===----------------------------------------------------------------------===//
#include "SourceDir.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

const char *const stg::kSourceDir = STG_SOURCE_DIR;

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seed=", 7) == 0)
      setenv("STG_SEED", argv[i] + 7, /*overwrite=*/1);
    if (std::strncmp(argv[i], "--count=", 8) == 0)
      setenv("STG_COUNT", argv[i] + 8, /*overwrite=*/1);
  }
  return RUN_ALL_TESTS();
}
