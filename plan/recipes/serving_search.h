// Searches for a serving engine, by runs of it: the lowest utilization with which it starts, and
// the fewest or smallest cards. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/fit/bracket.h"
#include "plan/recipes/serving.h"

namespace headroom {

// One start of the engine, with one request.
struct ServingRun {
  Fits fits = Fits::kUnknown;
  std::optional<EngineMemory> memory;
  std::optional<int64_t> room;  // bytes left on the fullest card at its peak
  std::string reason;           // of a start that failed
};

// Cards of one kind.
struct ServingCards {
  std::string card;
  int64_t count = 1;
  int64_t card_bytes = 0;  // of each
};
using RunServing = std::function<ServingRun(const Serving& serving, const ServingCards& cards)>;

// The lowest utilization in whole percent that holds one request of the longest length, near the
// one that the figures of `first` give; `first` is the run of `serving` itself.
std::optional<int64_t> lowest_utilization(Serving serving, const ServingCards& cards,
                                          const ServingRun& first, const RunServing& run);

// The candidates that could hold the model and one request, as the figures of `first` divided over
// their cards say, those with the least memory first.
std::vector<ServingCards> promising_cards(const Serving& serving, const ServingCards& cards,
                                          const ServingRun& first,
                                          const std::vector<ServingCards>& candidates);

// The utilization, in whole percent of the card, that leaves `wanted` bytes more than the run of
// `utilization` left; below 1: there is none.
int64_t utilization_beside(double utilization, int64_t card_bytes, int64_t room, int64_t wanted);

}  // namespace headroom
