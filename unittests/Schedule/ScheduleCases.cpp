//===- ScheduleCases.cpp - schedules for tests, made or read ------------------===//
#include "Schedule/ScheduleCases.h"
#include "SourceDir.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sstream>

namespace stg::test {

namespace {

OrderCase beginCase(const std::string &header) {
  std::istringstream words(header.substr(2));
  std::string name;
  words >> name;
  std::optional<ScheduleKind> kind = scheduleNamed(name);
  EXPECT_TRUE(kind) << name;
  OrderCase made{header.substr(2), kind.value_or(ScheduleKind::GPipe), {}, ""};
  made.sizes.chunks = fixedChunks(made.kind).value_or(1);
  for (char letter; words >> letter;) {
    uint32_t size = 0;
    words >> size;
    switch (letter) {
    case 'p':
      made.sizes.ranks = size;
      break;
    case 'v':
      made.sizes.chunks = size;
      break;
    case 'm':
      made.sizes.microBatches = size;
      break;
    default:
      made.sizes.group = size;
    }
  }
  return made;
}

} // namespace

Schedule make(ScheduleKind kind, const ScheduleSizes &sizes) {
  auto made = makeSchedule(kind, sizes);
  if (auto *refusal = std::get_if<ScheduleRefusal>(&made)) {
    ADD_FAILURE() << textOf(*refusal);
    return {};
  }
  return std::get<Schedule>(std::move(made));
}

ScheduleSizes sizesOf(ScheduleKind kind, uint32_t ranks, uint32_t microBatches) {
  return {.ranks = ranks, .chunks = fixedChunks(kind).value_or(1), .microBatches = microBatches};
}

std::vector<OrderCase> orderCases(const std::string &file) {
  std::ifstream in(std::string(kSourceDir) + "/unittests/Schedule/orders/" + file);
  EXPECT_TRUE(in) << file;
  std::vector<OrderCase> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("= "))
      cases.push_back(beginCase(line));
    else if (!line.empty() && line[0] != '#')
      cases.back().text += line + "\n";
  }
  return cases;
}

} // namespace stg::test
