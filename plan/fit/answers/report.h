// Output of `headroom fit`. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cards/cards.h"
#include "plan/fit/search.h"
#include "text/table.h"

namespace headroom {

// One question, its card and the result.
struct FitFound {
  FitQuestion question;
  Card card;                  // with the requested memory
  std::vector<Card> smaller;  // tried before `card`, the smallest first
  std::vector<FitResult> of_smaller;
  FitResult result;
};

// "Cheapest sets that fit: 7b on rtx4090, batch 1, context 2048".
std::string title_of(const FitFound& found);

// The card with the least memory left after a run: the only GPU's, or one rank's on a mesh.
struct FullestCard {
  std::optional<int64_t> rank;  // on a mesh
  int64_t peak = 0;             // allocated
  int64_t predicted = 0;        // allocated peak by theory; 0: not known
  int64_t beside = 0;           // outside the allocator: CUDA context, NCCL
};
FullestCard fullest_card(const FitFound& found, const Record& record);
int64_t margin_of(const FitFound& found, const FitAnswer& answer);

// Ranks of a mesh that were run.
std::vector<int64_t> ranks_of(const Record& record);

// One line for a search in which nothing fits: the short memory, the missing bytes and the side.
// The result must have `nearest`.
std::string nothing_fits(const FitFound& found);

std::vector<Table> fit_report(const FitFound& found);

nlohmann::ordered_json fit_document(const FitFound& found);

}  // namespace headroom
