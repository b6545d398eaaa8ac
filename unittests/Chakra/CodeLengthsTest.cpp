//===- CodeLengthsTest.cpp - prefix codes of limited length -----------------===//

#include "../lib/Chakra/CodeLengths.h"
#include "gtest/gtest.h"
#include <functional>
#include <queue>
#include <random>

using namespace stg::detail;

namespace {

uint64_t costOf(std::span<const uint32_t> weights, std::span<const uint8_t> lengths) {
  uint64_t cost = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    cost += uint64_t{weights[i]} * lengths[i];
  return cost;
}

/// The sum of 2^-length in units of 2^-limit.
uint64_t roomOf(std::span<const uint8_t> lengths, unsigned limit) {
  uint64_t room = 0;
  for (uint8_t length : lengths) {
    EXPECT_LE(length, limit);
    room += length > 0 ? uint64_t{1} << (limit - length) : 0;
  }
  return room;
}

/// The sum of weight times length of Huffman's code, which knows no limit.
uint64_t huffmanCost(std::span<const uint32_t> weights) {
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue;
  for (uint32_t weight : weights)
    if (weight > 0)
      queue.push(weight);
  uint64_t cost = 0;
  while (queue.size() > 1) {
    uint64_t sum = queue.top();
    queue.pop();
    sum += queue.top();
    queue.pop();
    cost += sum;
    queue.push(sum);
  }
  return cost;
}

TEST(CodeLengths, AsGoodAsHuffmansWithinTheLimit) {
  std::mt19937 random(6);
  for (unsigned round = 0; round < 200; ++round) {
    // Huffman's codes have 15 bits only where weights sum up to 1597, the 17th Fibonacci number.
    std::vector<uint32_t> weights(2 + random() % 100);
    for (unsigned i = 0; i < 1000; ++i)
      ++weights[random() % (1 + random() % weights.size())];
    std::vector<uint8_t> lengths = codeLengths(weights, 15);
    EXPECT_EQ(roomOf(lengths, 15), 1u << 15);
    EXPECT_EQ(costOf(weights, lengths), std::max<uint64_t>(huffmanCost(weights), 1000)) << "round " << round;
  }
}

TEST(CodeLengths, TheLimitHolds) {
  // Huffman's code of Fibonacci's numbers has one symbol of each length.
  std::vector<uint32_t> weights = {1, 1};
  while (weights.size() < 19)
    weights.push_back(weights.end()[-1] + weights.end()[-2]);
  std::vector<uint8_t> lengths = codeLengths(weights, 7);
  EXPECT_EQ(roomOf(lengths, 7), 1u << 7);
  EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), 7);
}

TEST(CodeLengths, EqualCodesAreEqual) {
  std::mt19937 random(7);
  const EqualCodes equal[] = {{.first = 16, .bits = 4}, {.first = 128, .bits = 7}};
  for (unsigned round = 0; round < 200; ++round) {
    std::vector<uint32_t> weights(286);
    for (uint32_t i = random() % 100000; i > 0; --i)
      ++weights[random() % (1 + random() % weights.size())];
    weights[256] = 1;
    std::vector<uint8_t> lengths = codeLengths(weights, 15, equal);
    EXPECT_EQ(roomOf(lengths, 15), 1u << 15);
    for (const EqualCodes &codes : equal)
      for (uint32_t i = codes.first; i < codes.first + (1u << codes.bits); ++i)
        ASSERT_EQ(lengths[i], lengths[codes.first]);
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_TRUE(weights[i] == 0 || lengths[i] > 0);
  }
}

TEST(CodeLengths, OneSymbolOrNoneGetsACompanion) {
  for (uint32_t weight : {0u, 5u}) {
    std::vector<uint32_t> weights = {0, 0, weight, 0};
    std::vector<uint8_t> lengths = codeLengths(weights, 15);
    EXPECT_EQ(roomOf(lengths, 15), 1u << 15);
  }
}

TEST(CodeLengths, CanonicalCodesOfTheStandard) {
  // RFC 1951, 3.2.2: A to H have the lengths 3, 3, 3, 3, 3, 2, 4, 4.
  std::vector<uint16_t> codes = canonicalCodes(std::vector<uint8_t>{3, 3, 3, 3, 3, 2, 4, 4});
  const uint32_t expected[] = {0b010, 0b011, 0b100, 0b101, 0b110, 0b00, 0b1110, 0b1111};
  const unsigned lengths[] = {3, 3, 3, 3, 3, 2, 4, 4};
  for (size_t i = 0; i < codes.size(); ++i)
    EXPECT_EQ(codes[i], reverseBits(expected[i], lengths[i])) << i;
}

} // namespace
