#include "StgFiles.h"
#include "SourceDir.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stg {

std::vector<std::string> correctStgFiles() {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (const char *folder : {"stdlib", "examples", "test"}) {
    fs::path root = fs::path(kSourceDir) / folder;
    if (!fs::exists(root))
      continue;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".stg" || entry.path().stem().string().ends_with("-errors"))
        continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      bool wrong = text.str().find("expected-error") != std::string::npos ||
                   text.str().find("RUN: not") != std::string::npos || text.str().find("error[") != std::string::npos ||
                   text.str().find("split-file") != std::string::npos;
      if (!wrong)
        paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

} // namespace stg
