// The FitOracle that runs cells on a virtual card. No torch here.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/sweep/remembered_cells.h"
#include "cards/cards.h"
#include "plan/fit/questions/asked_card.h"
#include "plan/fit/search.h"

namespace headroom {

// Receives the progress of cells.
struct FitProgress {
  std::function<void(const std::string& line)> on_line;    // "[3/22] 7b_... fits, 21.3 GiB, ..."
  std::function<void(const std::string& line)> on_status;  // while a cell runs; may be empty
};

// card: with the requested memory. `cells` and `asked` must enforce the limit on a rank's host
// memory. They and `progress` must outlive the result.
FitOracle judge_on(const Card& card, const FitQuestion& question, AskedCard& asked,
                   RememberedCells& cells, const FitProgress& progress);

// None of the first cells gave a verdict on memory; what() has the last one's reason.
class NoCellRuns : public std::runtime_error {
 public:
  NoCellRuns(const std::string& reason, bool of_environment)
      : std::runtime_error(reason), of_environment(of_environment) {}
  bool of_environment;  // a library or a device is missing
};

// A Record's verdict on its card's memory, and on the host's if that is limited.
Verdict verdict_of(Record record, bool limits_host);

}  // namespace headroom
