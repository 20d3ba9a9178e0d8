// Time per step, and the card's rates from it. No torch here.
#pragma once

#include <optional>

#include "profiling/record/record.h"
#include "profiling/report/times/step_times.h"
#include "text/table.h"

namespace headroom {

// The rates of a step of a given length.
struct StepRates {
  double tokens_per_second = 0;
  double flops_per_second = 0;  // of the arithmetic in profiling/flops.h
  std::optional<double> mfu;    // of the card's dense peak; empty if that is unknown
};
StepRates step_rates(const Record& record, double step_ms);

// Percentiles, throughput, TFLOP/s and MFU, with notes on the counting and on too wide a spread.
Table time_table(const Record& record, const StepTimes& times);

}  // namespace headroom
