// append FILE COPY: opens the file as ASTRA-sim's feeder does, reads it into the copy, then tries to write.
#include <fstream>

int main(int count, char **arguments) {
  if (count != 3)
    return 2;
  std::fstream file(arguments[1], std::ios::in | std::ios::app | std::ios::binary);
  if (!file.is_open())
    return 3;
  file.seekg(0);
  std::ofstream(arguments[2], std::ios::binary) << file.rdbuf();
  file.clear();
  file << "more" << std::flush;
  return file.good() ? 4 : 0;
}
