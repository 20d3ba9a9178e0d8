#include "plan/recipes/serving_search.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace headroom {
namespace {

constexpr double kBytesOfGiB = 1024.0 * 1024 * 1024;

double gib_in(const std::string& text) { return engine_number(text).value_or(0) * kBytesOfGiB; }

// Bytes of the cache that one request of the longest length takes.
std::optional<double> request_bytes(const EngineMemory& memory) {
  const auto tokens = engine_number(memory.tokens);
  const auto length = engine_number(memory.length);
  if (!tokens || !length || *tokens <= 0) return std::nullopt;
  return gib_in(memory.cache_gib) * *length / *tokens;
}

}  // namespace

std::optional<int64_t> lowest_utilization(Serving serving, const ServingCards& cards,
                                          const ServingRun& first, const RunServing& run) {
  if (!first.memory) return std::nullopt;
  const auto request = request_bytes(*first.memory);
  if (!request) return std::nullopt;
  // The cache is what the share leaves, so it falls with it, byte for byte.
  const double unused =
      (gib_in(first.memory->cache_gib) - *request) / static_cast<double>(cards.card_bytes);
  const auto least = static_cast<int64_t>(std::ceil(100 * (serving.utilization - unused)));
  // Percent that are left: a larger value is harder, as in other searches.
  const Range range{.least = 1, .most = 99, .stride = 1};
  const auto left =
      largest_that_fits(range, std::clamp<int64_t>(100 - least, 1, 99), [&](int64_t value) {
        serving.utilization = static_cast<double>(100 - value) / 100;
        return run(serving, cards).fits;
      });
  if (!left || *left == 0) return std::nullopt;
  return 100 - *left;
}

std::vector<ServingCards> promising_cards(const Serving& serving, const ServingCards& cards,
                                          const ServingRun& first,
                                          const std::vector<ServingCards>& candidates) {
  std::vector<ServingCards> promising;
  for (const ServingCards& candidate : candidates) {
    if (first.memory) {
      const auto request = request_bytes(*first.memory);
      // Weights and cache are divided over the cards, the activations are whole on each.
      const double divided = (gib_in(first.memory->weights_gib) + request.value_or(0)) *
                             static_cast<double>(cards.count) /
                             static_cast<double>(candidate.count);
      const double whole = gib_in(first.memory->activations_gib);
      const double share = serving.utilization * static_cast<double>(candidate.card_bytes);
      if (divided + whole > share) continue;
    }
    promising.push_back(candidate);
  }
  const auto bytes_of = [](const ServingCards& of) { return of.count * of.card_bytes; };
  std::stable_sort(promising.begin(), promising.end(),
                   [&](const auto& a, const auto& b) { return bytes_of(a) < bytes_of(b); });
  return promising;
}

int64_t utilization_beside(double utilization, int64_t card_bytes, int64_t room, int64_t wanted) {
  const double less = static_cast<double>(wanted - room) / static_cast<double>(card_bytes);
  return static_cast<int64_t>(std::floor(100 * (utilization - less)));
}

}  // namespace headroom
