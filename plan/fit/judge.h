// The Judge that runs cells on a virtual card. No torch here.
#pragma once

#include <functional>
#include <string>

#include "bench/sweep/remembered_cells.h"
#include "cards/cards.h"
#include "plan/fit/search.h"

namespace headroom {

// Who is told of the cells.
struct FitProgress {
  std::function<void(const std::string& line)> on_line;    // "[3/22] 7b_... fits, 21.3 GiB, ..."
  std::function<void(const std::string& line)> on_status;  // while a cell runs; may be empty
};

// card: with the memory asked for. `cells` and `progress` must outlive it.
Judge judge_on(const Card& card, RememberedCells& cells, const FitProgress& progress);

// What a Record says of its card's memory.
Verdict verdict_of(Record record);

// What a run may have of a card.
inline int64_t capacity_of(const Card& card) { return card.total_bytes - card.context_bytes; }

}  // namespace headroom
