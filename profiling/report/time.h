// Time per step, and what it says of the card. No torch here.
#pragma once

#include <optional>

#include "profiling/record.h"
#include "profiling/report/step_times.h"
#include "text/table.h"

namespace headroom {

// What a step of so many milliseconds amounts to.
struct StepRates {
  double tokens_per_second = 0;
  double flops_per_second = 0;  // of the arithmetic that profiling/flops.h counts
  std::optional<double> mfu;    // of the card's dense peak; nothing where no peak is known
};
StepRates step_rates(const Record& record, double step_ms);

// Percentiles, throughput, TFLOP/s and MFU, with what is counted and whether the spread is too
// wide.
Table time_table(const Record& record, const StepTimes& times);

}  // namespace headroom
