#include "train/ppo/phases/packing.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "text/quantity.h"

namespace headroom {
namespace {

struct Bin {
  Indices sequences;
  int64_t tokens = 0;
};

Indices longest_first(const Indices& lengths) {
  Indices order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  });
  return order;
}

std::vector<Bin> spread(const Indices& order, const Indices& lengths, size_t count) {
  std::vector<Bin> bins(count);
  for (const int64_t sequence : order) {
    Bin& least = *std::min_element(bins.begin(), bins.end(),
                                   [](const Bin& a, const Bin& b) { return a.tokens < b.tokens; });
    least.sequences.push_back(sequence);
    least.tokens += lengths[static_cast<size_t>(sequence)];
  }
  return bins;
}

int64_t fullest(const std::vector<Bin>& bins) {
  int64_t most = 0;
  for (const Bin& bin : bins) most = std::max(most, bin.tokens);
  return most;
}

}  // namespace

std::vector<Indices> pack_sequences(const Indices& lengths, int64_t budget) {
  if (lengths.empty()) return {};
  const Indices order = longest_first(lengths);
  const int64_t longest = lengths[static_cast<size_t>(order.front())];
  if (budget > 0 && longest > budget) {
    throw UsageError("--max-tokens-per-micro-batch", std::to_string(budget),
                     "is below the longest sequence, prompt and response, of " +
                         std::to_string(longest) + " tokens; allowed: " + std::to_string(longest) +
                         " or more",
                     "--max-tokens-per-micro-batch " + std::to_string(longest));
  }
  const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  auto count = static_cast<size_t>(budget == 0 ? 1 : (total + budget - 1) / budget);
  count = std::max<size_t>(count, 1);
  std::vector<Bin> bins = spread(order, lengths, count);
  while (budget > 0 && fullest(bins) > budget) bins = spread(order, lengths, ++count);
  std::stable_sort(bins.begin(), bins.end(),
                   [](const Bin& a, const Bin& b) { return a.tokens > b.tokens; });
  std::vector<Indices> packed;
  for (Bin& bin : bins) {
    std::sort(bin.sequences.begin(), bin.sequences.end());
    packed.push_back(std::move(bin.sequences));
  }
  return packed;
}

std::vector<Indices> shuffled_minibatches(int64_t sequences, int64_t count, uint64_t seed,
                                          int64_t epoch) {
  Indices order(static_cast<size_t>(sequences));
  std::iota(order.begin(), order.end(), 0);
  std::seed_seq sequence = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32U),
                            static_cast<uint32_t>(epoch)};
  std::mt19937_64 numbers(sequence);
  // std::shuffle differs between standard libraries.
  for (size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[numbers() % left]);
  }
  std::vector<Indices> parts;
  auto begin = order.begin();
  for (int64_t part = 0; part < count; ++part) {
    const int64_t size = sequences / count + (part < sequences % count ? 1 : 0);
    parts.emplace_back(begin, begin + size);
    begin += size;
  }
  return parts;
}

}  // namespace headroom
