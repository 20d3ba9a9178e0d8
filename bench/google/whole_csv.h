// Google Benchmark's CSV, written in one piece at the end.
//
// 1.7.1 takes the columns from the first reported benchmark and aborts the program if a later one
// has more counters, which happens if the first cell ran out of memory.
#pragma once

#include <benchmark/benchmark.h>

#include <vector>

namespace headroom {

BENCHMARK_DISABLE_DEPRECATED_WARNING
class WholeCsv : public benchmark::CSVReporter {
 public:
  void ReportRuns(const std::vector<Run>& reports) override {
    runs_.insert(runs_.end(), reports.begin(), reports.end());
  }
  void Finalize() override {
    if (!runs_.empty()) CSVReporter::ReportRuns(runs_);
  }

 private:
  std::vector<Run> runs_;
};
BENCHMARK_RESTORE_DEPRECATED_WARNING

}  // namespace headroom
