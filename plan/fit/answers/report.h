// What `headroom fit` prints of its answers. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cards/cards.h"
#include "plan/fit/search.h"
#include "text/table.h"

namespace headroom {

// One question, its card and what came of it.
struct FitFound {
  FitQuestion question;
  Card card;                  // with the memory asked for
  std::vector<Card> smaller;  // that were looked at before it, the smallest first
  std::vector<FitResult> of_smaller;
  FitResult result;
};

// "Cheapest sets that fit: 7b on rtx4090, batch 1, context 2048".
std::string title_of(const FitFound& found);

// The card that a run leaves least of: one GPU's, or of a mesh that of the rank that has least
// left.
struct FullestCard {
  std::optional<int64_t> rank;  // of a mesh
  int64_t peak = 0;             // allocated
  int64_t predicted = 0;        // the same by theory; 0: not known
  int64_t beside = 0;           // what its allocator cannot have: the context, NCCL
};
FullestCard fullest_card(const FitFound& found, const Record& record);
int64_t margin_of(const FitFound& found, const FitAnswer& answer);

// Ranks of a mesh that a run had.
std::vector<int64_t> ranks_of(const Record& record);

// Where nothing fits, what is short, by how much and on which side: one line. Of a result with
// `nearest`.
std::string nothing_fits(const FitFound& found);

std::vector<Table> fit_report(const FitFound& found);

nlohmann::ordered_json fit_document(const FitFound& found);

// The answers' peaks against their order of cost, the card's memory as a line.
std::string fit_svg(const FitFound& found);

}  // namespace headroom
