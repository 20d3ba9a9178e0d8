#include "train/ppo/phases/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "text/quantity.h"

namespace headroom {
namespace {

int64_t tokens_of(const Indices& lengths, const Indices& sequences) {
  int64_t tokens = 0;
  for (const int64_t sequence : sequences) tokens += lengths[static_cast<size_t>(sequence)];
  return tokens;
}

int64_t sum(const Indices& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

void expect_each_once(const std::vector<Indices>& parts, size_t sequences) {
  Indices seen;
  for (const Indices& part : parts) seen.insert(seen.end(), part.begin(), part.end());
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), sequences);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i));
}

// Lengths like those of responses: many short, few long.
Indices skewed_lengths(std::mt19937_64& random, int64_t longest) {
  std::exponential_distribution<double> draw(4.0 / static_cast<double>(longest));
  Indices lengths(1 + random() % 60);
  for (int64_t& length : lengths) {
    length = std::clamp<int64_t>(static_cast<int64_t>(draw(random)), 1, longest);
  }
  return lengths;
}

TEST(Packing, OfAnyLengthsEverySequenceIsInOneMicroBatchAndNoneIsAboveTheBudget) {
  std::mt19937_64 random(1);
  for (int draw = 0; draw < 2000; ++draw) {
    const Indices lengths = skewed_lengths(random, 512);
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    const int64_t budget = longest + static_cast<int64_t>(random() % 1024);
    const std::vector<Indices> packs = pack_sequences(lengths, budget);
    expect_each_once(packs, lengths.size());
    const int64_t fewest = (sum(lengths) + budget - 1) / budget;
    EXPECT_GE(static_cast<int64_t>(packs.size()), fewest);
    for (const Indices& pack : packs) {
      ASSERT_FALSE(pack.empty());
      EXPECT_LE(tokens_of(lengths, pack), budget);
      EXPECT_TRUE(std::is_sorted(pack.begin(), pack.end()));
    }
  }
}

TEST(Packing, TheFullestMicroBatchComesFirst) {
  std::mt19937_64 random(2);
  for (int draw = 0; draw < 500; ++draw) {
    const Indices lengths = skewed_lengths(random, 512);
    Indices tokens;
    for (const Indices& pack : pack_sequences(lengths, 700)) {
      tokens.push_back(tokens_of(lengths, pack));
    }
    EXPECT_TRUE(std::is_sorted(tokens.rbegin(), tokens.rend()));
  }
}

// Tokens of the fullest micro-batch in the best of all distributions.
int64_t least_fullest(const Indices& lengths, size_t sequence, Indices& tokens) {
  if (sequence == lengths.size()) return *std::max_element(tokens.begin(), tokens.end());
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t& bin : tokens) {
    bin += lengths[sequence];
    least = std::min(least, least_fullest(lengths, sequence + 1, tokens));
    bin -= lengths[sequence];
  }
  return least;
}

TEST(Packing, TheFullestMicroBatchIsWithinGrahamsBoundOfTheBestThereIs) {
  std::mt19937_64 random(3);
  for (int draw = 0; draw < 200; ++draw) {
    Indices lengths = skewed_lengths(random, 512);
    lengths.resize(std::min<size_t>(lengths.size(), 7));
    const std::vector<Indices> packs = pack_sequences(lengths, 600);
    Indices tokens(packs.size(), 0);
    const auto best = static_cast<double>(least_fullest(lengths, 0, tokens));
    const double bound = 4.0 / 3 - 1 / (3 * static_cast<double>(packs.size()));
    EXPECT_LE(static_cast<double>(tokens_of(lengths, packs.front())), bound * best + 1e-9);
  }
}

TEST(Packing, FourEqualHalvesFillTwoMicroBatches) {
  EXPECT_EQ(pack_sequences({50, 50, 50, 50}, 100), (std::vector<Indices>{{0, 2}, {1, 3}}));
}

TEST(Packing, OneMicroBatchMoreIsMadeWhereTheEqualShareDoesNotFit) {
  // 3 x 60 tokens are less than 2 x 100, but no two go together.
  EXPECT_EQ(pack_sequences({60, 60, 60}, 100).size(), 3U);
}

TEST(Packing, WithoutABudgetAllSequencesAreOneMicroBatch) {
  EXPECT_EQ(pack_sequences({3, 1, 2}, 0), (std::vector<Indices>{{0, 1, 2}}));
  EXPECT_TRUE(pack_sequences({}, 100).empty());
}

TEST(Packing, ABudgetBelowTheLongestSequenceIsRefusedInOneLine) {
  try {
    pack_sequences({10, 300, 20}, 256);
    FAIL() << "it was taken";
  } catch (const UsageError& error) {
    const std::string line = error.what();
    EXPECT_NE(line.find("--max-tokens-per-micro-batch"), std::string::npos) << line;
    EXPECT_NE(line.find("256"), std::string::npos) << line;
    EXPECT_NE(line.find("300"), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

TEST(ShuffledMinibatches, HoldEverySequenceOnceInPartsOfNearlyEqualSize) {
  for (const int64_t count : {1, 2, 3, 7}) {
    const std::vector<Indices> parts = shuffled_minibatches(23, count, 5, 0);
    ASSERT_EQ(static_cast<int64_t>(parts.size()), count);
    expect_each_once(parts, 23);
    for (const Indices& part : parts) {
      EXPECT_NEAR(static_cast<double>(part.size()), 23.0 / static_cast<double>(count), 1);
    }
  }
}

TEST(ShuffledMinibatches, ASeedAndAnEpochAreOneOrder) {
  EXPECT_EQ(shuffled_minibatches(40, 4, 9, 1), shuffled_minibatches(40, 4, 9, 1));
  EXPECT_NE(shuffled_minibatches(40, 4, 9, 1), shuffled_minibatches(40, 4, 9, 2));
  EXPECT_NE(shuffled_minibatches(40, 4, 9, 1), shuffled_minibatches(40, 4, 10, 1));
  // By std::mt19937_64, which the standard defines: the same on every machine.
  EXPECT_EQ(shuffled_minibatches(6, 2, 1, 0), shuffled_minibatches(6, 2, 1, 0));
}

}  // namespace
}  // namespace headroom
