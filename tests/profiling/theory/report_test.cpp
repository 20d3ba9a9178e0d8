#include "profiling/theory/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "profiling/theory/activations/residual_stream.h"

namespace headroom {
namespace {

using testing::HasSubstr;

RunSpec spec_of(const std::string& size, int64_t context, Mode mode) {
  RunSpec spec;
  spec.model_size = size;
  spec.context_length = context;
  spec.profile_type = mode;
  spec.device = parse_device("cpu");
  return spec;
}

const Table& find_table(const std::vector<Table>& tables, const std::string& start) {
  for (const Table& table : tables) {
    if (table.title.starts_with(start)) return table;
  }
  throw std::runtime_error("no table " + start);
}

size_t column(const Table& table, const std::string& name) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == name) return i;
  }
  throw std::runtime_error("no column " + name);
}

std::string cell(const Table& table, const std::string& row_start, const std::string& name) {
  for (const auto& row : table.rows) {
    if (row.front() == row_start) return row[column(table, name)];
  }
  throw std::runtime_error("no row " + row_start);
}

TEST(TheoryReport, DerivesTheResidualStreamTensorInASentence) {
  const RunSpec spec = spec_of("2.7B", 512, Mode::kForwardGrad);
  EXPECT_EQ(residual_stream(spec).bytes, 20971520);
  const std::string sentence = derivation(residual_stream(spec));
  EXPECT_THAT(sentence, HasSubstr("4 x 512 x 2560 = 5242880"));
  EXPECT_THAT(sentence, HasSubstr("20.97 MB"));
  EXPECT_THAT(sentence, HasSubstr("20.00 MiB"));
}

TEST(TheoryReport, EveryTableOfRowsEndsInTheSumOfItsRows) {
  for (const Mode mode : {Mode::kForward, Mode::kForwardGrad, Mode::kTraining}) {
    for (const Table& table : theory_report(spec_of("small", 128, mode))) {
      if (table.columns.front().name != "part") continue;
      const size_t bytes = column(table, "size_bytes");
      int64_t sum = 0;
      for (const auto& row : table.rows) {
        if (row.front() != "sum") sum += std::stoll(row[bytes]);
      }
      EXPECT_EQ(table.rows.back().front(), "sum");
      EXPECT_EQ(std::stoll(table.rows.back()[bytes]), sum) << table.title;
    }
  }
}

// The optimizer phase's peak of requested bytes that `headroom profile --device cpu` measured for
// this run; a few scalars of 4 or 8 bytes are not in the rows.
TEST(TheoryReport, TheOptimizerStepEqualsTheMeasuredPeakButForAFewScalars) {
  struct Measured {
    OptimizerImpl impl;
    Precision precision;
    int64_t peak;
  };
  const Measured kPeaks[] = {{OptimizerImpl::kReference, Precision::kFp32, 862707728},
                             {OptimizerImpl::kReference, Precision::kBf16, 857587726},
                             {OptimizerImpl::kForeach, Precision::kFp32, 883815440},
                             {OptimizerImpl::kFused, Precision::kFp32, 709107848}};
  for (const Measured& measured : kPeaks) {
    RunSpec spec = spec_of("small", 128, Mode::kTraining);
    spec.layers = 3;
    spec.batch_size = 2;
    spec.optimizer_impl = measured.impl;
    spec.precision = measured.precision;
    const auto tables = theory_report(spec);
    const Table& totals = find_table(tables, "Totals per mode");
    const int64_t live = std::stoll(cell(totals, "live in the optimizer step", "training_bytes"));
    EXPECT_LE(live, measured.peak);
    EXPECT_GE(live, measured.peak - 16) << measured.peak;
    EXPECT_EQ(cell(totals, "live in the optimizer step", "forward"), kNotAvailable);
  }
}

TEST(TheoryReport, TheAliasesOfABlockAreShownAndNotCounted) {
  const auto tables = theory_report(spec_of("2.7B", 512, Mode::kForwardGrad));
  const Table& block = find_table(tables, "Kept for backward by one block");
  EXPECT_EQ(block.rows.back()[column(block, "storages")], "22");
  EXPECT_THAT(block.notes.back(), HasSubstr("46 tensors, 1565.7 MiB"));
}

TEST(TheoryReport, CudaRowsSayThatTheyWereNotMeasured) {
  RunSpec spec = spec_of("small", 128, Mode::kForwardGrad);
  spec.device = parse_device("cuda");
  EXPECT_THAT(to_string(theory_report(spec), TableFormat::kText), HasSubstr("unmeasured here"));
}

}  // namespace
}  // namespace headroom
