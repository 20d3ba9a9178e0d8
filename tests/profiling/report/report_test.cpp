#include "profiling/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "profiling/report/rows/cells.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kGib = int64_t{1} << 30;

Record ok(Mode mode, Precision precision, int64_t context, int64_t peak) {
  Record record;
  record.spec = {.context_length = context, .profile_type = mode, .precision = precision};
  record.status = Status::kOk;
  record.peak = MemoryBytes{peak, peak, peak};
  record.recorded_peak = record.peak;
  record.phase_order = {"forward"};
  record.phases["forward"] = *record.peak;
  record.peak_phase = "forward";
  record.categories_at_peak = {{"parameters", kGib}, {"activations", peak - kGib}};
  record.step_ms = {3, 1, std::nan(""), 2};
  return record;
}

Record failed(Status status, std::string reason, int64_t context = 512) {
  Record record;
  record.spec = {.context_length = context, .profile_type = Mode::kTraining};
  record.status = status;
  record.reason = std::move(reason);
  return record;
}

// The cell of the row whose first cell is `row`.
std::string cell(const Table& table, const std::string& row, const std::string& column) {
  for (const auto& cells : table.rows) {
    if (cells[0] != row) continue;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].name == column) return cells[i];
    }
  }
  return "missing";
}

// Checks that must hold for every printed table.
void expect_presentable(const std::vector<Table>& tables) {
  for (const Table& table : tables) {
    for (const auto& row : table.rows) ASSERT_EQ(row.size(), table.columns.size()) << table.title;
  }
  for (const TableFormat format :
       {TableFormat::kText, TableFormat::kCsv, TableFormat::kMarkdown, TableFormat::kJson}) {
    const std::string text = to_string(tables, format);
    EXPECT_THAT(text, Not(AnyOf(HasSubstr("nan"), HasSubstr("NaN"))));
  }
  EXPECT_TRUE(nlohmann::json::accept(to_string(tables, TableFormat::kJson)));
}

// The only table whose title starts with `begin`.
Table titled(const std::vector<Table>& tables, const std::string& begin) {
  for (const Table& table : tables) {
    if (table.title.starts_with(begin)) return table;
  }
  ADD_FAILURE() << "no table " << begin;
  return {};
}

TEST(Report, CategoriesSumToThePeakToTheByte) {
  Record record = ok(Mode::kTraining, Precision::kFp32, 512, 3 * kGib + 1);
  const auto tables = profile_report(record);
  expect_presentable(tables);
  const Table live = titled(tables, "Live memory");
  EXPECT_EQ(cell(live, "sum", "bytes"), std::to_string(3 * kGib + 1));
  EXPECT_THAT(live.notes, Contains(HasSubstr("to the byte")));
  EXPECT_EQ(live.rows[0][0], "activations");  // the largest first

  record.categories_at_peak["activations"] -= 1;
  EXPECT_THAT(titled(profile_report(record), "Live memory").notes, Contains(HasSubstr("MISMATCH")));
}

TEST(Report, AProfileBeginsWithThePeakAndWhereItIsThenTimesThenDetails) {
  Record record = ok(Mode::kTraining, Precision::kFp32, 512, 3 * kGib);
  record.phase_order = {"forward", "backward"};
  record.phases = {{"forward", {kGib, 4 * kGib, kGib}}, {"backward", {3 * kGib, 2 * kGib, kGib}}};
  const auto tables = profile_report(record);
  std::vector<std::string> titles;
  for (const Table& table : tables) titles.push_back(table.title.substr(0, 11));
  EXPECT_THAT(titles, ElementsAre("Peak memory", "Peak per ph", "Time per st", "Live memory",
                                  "Profile of "));
  EXPECT_EQ(tables[0].title,
            "Peak memory of small_ctx512_training_fp32 on auto, highest over the measured steps");
  EXPECT_EQ(cell(tables[0], "allocated", "in phase"), "backward");
  EXPECT_EQ(cell(tables[0], "reserved", "in phase"), "forward");
}

TEST(Report, OtherMemoryIsShownWhereItIsWorthARow) {
  Record record = ok(Mode::kTraining, Precision::kFp32, 512, 10 * kGib);
  record.spaces["host"].peak = {1000, 1000, 1000};
  const auto titles = [&] {
    std::vector<std::string> all;
    for (const Table& table : profile_report(record)) all.push_back(table.title);
    return all;
  };
  EXPECT_THAT(titles(), testing::Not(testing::Contains(testing::HasSubstr("Other memory"))));
  record.spaces["host_pinned"] = {.peak = {4 * kGib, 4 * kGib, 4 * kGib},
                                  .phases = {{"forward", {kGib, 4 * kGib, kGib}}}};
  const std::vector<Table> tables = profile_report(record);
  expect_presentable(tables);
  const auto spaces = std::find_if(tables.begin(), tables.end(), [](const Table& table) {
    return table.title == "Other memory, in the recorded steps";
  });
  ASSERT_NE(spaces, tables.end());
  ASSERT_EQ(spaces->rows.size(), 2U) << "1000 bytes of ordinary host memory are not worth one";
  EXPECT_EQ(spaces->rows[0][0], "host pinned");
  EXPECT_EQ(cell(*spaces, "host pinned", "held_bytes"), std::to_string(4 * kGib));
  EXPECT_EQ(spaces->rows[1][1], "forward");
}

TEST(Report, TheoryStandsBesideWhatWasMeasured) {
  Record record = ok(Mode::kTraining, Precision::kFp32, 512, 2 * kGib);
  record.category_peaks = {{"parameters", kGib}};
  record.predicted = {{"parameters", kGib}, {"peak_allocated_bytes", kGib}, {"logits", 5}};
  const Table theory = titled(profile_report(record), "Theory beside");
  EXPECT_EQ(cell(theory, "parameters", "relative"), "+0.00 %");
  EXPECT_EQ(cell(theory, "peak allocated bytes", "relative"), "+100.00 %");
  EXPECT_EQ(cell(theory, "peak allocated bytes", "difference_bytes"), std::to_string(kGib));
  EXPECT_EQ(cell(theory, "logits", "measured"), "not measured");
}

TEST(Report, AFailedRunSaysWhyAndShowsNoEmptyTables) {
  const auto tables = profile_report(failed(Status::kOom, "tried 2 GiB, \"quoted\" <b> | \xFF"));
  ASSERT_EQ(tables.size(), 1);
  expect_presentable(tables);
  EXPECT_THAT(cell(tables[0], "status", "value"), HasSubstr("oom: tried 2 GiB"));
}

TEST(Report, PeakMemoryHasContextsDownAndModesAcross) {
  const Table table = peak_memory_table({ok(Mode::kTraining, Precision::kFp32, 256, 3 * kGib),
                                         ok(Mode::kForward, Precision::kFp32, 256, 2 * kGib),
                                         ok(Mode::kForward, Precision::kFp32, 128, kGib),
                                         failed(Status::kOom, "out of\nmemory | here")});
  expect_presentable({table});
  ASSERT_EQ(table.rows.size(), 3);
  EXPECT_EQ(table.rows[0][0], "128");
  EXPECT_EQ(cell(table, "256", "forward peak"), "2.000 GiB");
  EXPECT_EQ(cell(table, "256", "training_peak_bytes"), std::to_string(3 * kGib));
  EXPECT_EQ(cell(table, "128", "training peak"), "not run");
  EXPECT_EQ(cell(table, "512", "training peak"), "oom");
  EXPECT_EQ(cell(table, "512", "training_reason"), "out of\nmemory | here");
  EXPECT_THAT(table.notes, Contains(HasSubstr("small_ctx512_training_fp32: oom: out of")));
}

TEST(Report, APeakThatFallsAsTheContextGrowsIsExplained) {
  Record shorter = ok(Mode::kTraining, Precision::kFp32, 128, 50 * kGib);
  Record longer = ok(Mode::kTraining, Precision::kFp32, 256, 49 * kGib);
  shorter.peak->requested = 47 * kGib;
  longer.peak->requested = 48 * kGib;
  const auto notes = [&] { return peak_memory_table({longer, shorter}).notes; };
  EXPECT_THAT(notes(), Contains(AllOf(HasSubstr("falls from 50.000 GiB at context 128 to 49.000 "
                                                "GiB at context 256"),
                                      HasSubstr("asked for 47.000 GiB at context 128 and 48.000"),
                                      HasSubstr("3.000 GiB and 1.000 GiB, is the allocator's"))));
  longer.peak->requested = 46 * kGib;
  longer.peak_phase = "backward";
  EXPECT_THAT(notes(), Contains(HasSubstr("the fullest moment is in forward, then in backward")));
  longer.peak->allocated = 51 * kGib;
  EXPECT_THAT(notes(), Not(Contains(HasSubstr("falls"))));
}

TEST(Report, WhatElseVariesSplitsTheRows) {
  Record sdpa = ok(Mode::kForward, Precision::kFp32, 128, kGib);
  sdpa.spec.attention = Attention::kSdpa;
  const Table table =
      peak_memory_table({ok(Mode::kForward, Precision::kFp32, 128, 2 * kGib), sdpa});
  EXPECT_EQ(cell(table, "eager", "forward peak"), "2.000 GiB");
  EXPECT_EQ(cell(table, "sdpa", "forward peak"), "1.000 GiB");
}

TEST(Report, MixedPrecisionSaysWhatItCannotShrink) {
  Record fp32 = ok(Mode::kTraining, Precision::kFp32, 512, 8 * kGib);
  Record bf16 = ok(Mode::kTraining, Precision::kBf16, 512, 7 * kGib);
  fp32.categories_at_peak = {
      {"parameters", kGib}, {"optimizer_state", 2 * kGib}, {"activations", 5 * kGib}};
  bf16.categories_at_peak = {{"parameters", kGib},
                             {"optimizer_state", 2 * kGib},
                             {"activations", 7 * kGib / 2},
                             {"cast_cache", kGib / 2}};
  const auto tables = mixed_precision_tables({fp32, bf16, failed(Status::kTimeout, "slow", 1024)});
  expect_presentable(tables);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(tables[0].rows.size(), 2);
  EXPECT_EQ(cell(tables[0], "training", "BF16 - FP32"), "-1.000 GiB");
  EXPECT_EQ(cell(tables[0], "training", "BF16 change"), "-12.50 %");
  EXPECT_EQ(cell(tables[0], "training", "BF16_cast_cache_bytes"), std::to_string(kGib / 2));
  EXPECT_EQ(tables[0].rows[1][2], "timeout");
  EXPECT_THAT(tables[1].notes,
              ElementsAre(HasSubstr("Parameters and optimizer state stay in FP32 under autocast: "
                                    "3.000 GiB, as much as 37.5 %"),
                          HasSubstr("cast cache, BF16 copies of the weights, adds 512.000 MiB"),
                          HasSubstr("Activations go from 5.000 GiB to 3.500 GiB (-1.500 GiB)"),
                          HasSubstr("-1.000 GiB (-12.50 %)")));
}

TEST(Report, SummaryShowsOnlyWhatVariesAndAlwaysTheMode) {
  const Table table = summary_table({ok(Mode::kForward, Precision::kFp32, 128, kGib),
                                     ok(Mode::kForward, Precision::kFp32, 256, 2 * kGib),
                                     failed(Status::kKilled, "killed by signal 9")});
  expect_presentable({table});
  EXPECT_EQ(table.columns[0].name, "context_length");
  EXPECT_EQ(table.columns[1].name, "profile_type");
  EXPECT_EQ(table.columns[2].name, "status");
  EXPECT_EQ(cell(table, "128", "median step ms"), "2.000");
  EXPECT_EQ(cell(table, "512", "peak allocated"), "killed");
  EXPECT_EQ(cell(table, "512", "peak_allocated_bytes"), kNotAvailable);
  EXPECT_EQ(cell(table, "512", "reason"), "killed by signal 9");
}

TEST(Report, CsvSaysEverySettingThatTellsARowFromThoseOfAnotherFile) {
  Record a = ok(Mode::kTraining, Precision::kFp32, 512, 3 * kGib);
  Record b = a;
  b.spec.batch_size = 8;
  b.environment["device_name"] = "NVIDIA H200";
  b.environment["build"] = "1234";
  // Each in its own file: nothing varies in either.
  const auto row_of = [](const Table& table) {
    return nlohmann::json::parse(to_string(table, TableFormat::kJson))["rows"][0];
  };
  for (const auto& table_of : {summary_table, peak_memory_table, residuals_table}) {
    EXPECT_EQ(row_of(table_of({a}))["batch_size"], 4);
    EXPECT_EQ(row_of(table_of({b}))["batch_size"], 8);
    EXPECT_EQ(row_of(table_of({b}))["device_name"], "NVIDIA H200");
    EXPECT_EQ(row_of(table_of({b}))["build"], "1234");
    for (const Field& field : fields()) {
      const nlohmann::json row = row_of(table_of({a}));
      const bool shown = row.contains(field.name) || field.name == "context_length" ||
                         field.name == "profile_type" || field.name == "model_size";
      EXPECT_TRUE(shown || !field.changes_result) << field.name;
    }
  }
  EXPECT_EQ(row_of(mixed_precision_tables({b}).front())["batch_size"], 8);
}

TEST(Report, NamedAndCustomSizesReadRightBesideEachOther) {
  Record named = ok(Mode::kForward, Precision::kFp32, 128, kGib);
  Record changed = named;
  changed.spec.layers = 2;
  const Table table = summary_table({named, changed});
  EXPECT_EQ(cell(table, "small", "layers"), "12");  // not 0
  EXPECT_EQ(cell(table, "custom", "layers"), "2");
  EXPECT_EQ(cell(table, "custom", "d_model"), "768");
  for (const std::string& note : table.notes) EXPECT_THAT(note, Not(HasSubstr("model_size small")));
}

TEST(Report, ResidualsOfWhatElseVariesAreToldApart) {
  Record a = ok(Mode::kTraining, Precision::kFp32, 128, kGib);
  Record b = a;
  b.spec.batch_size = 1;
  const Table table = residuals_table({a, b});
  EXPECT_EQ(table.columns[5].name, "batch_size");
  EXPECT_NE(table.rows[0][5], table.rows[1][5]);
}

TEST(Report, ALaterResultReplacesAnEarlierOneAndSaysSo) {
  const Table table = summary_table({failed(Status::kOom, "first"), failed(Status::kOom, "again")});
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(cell(table, table.rows[0][0], "reason"), "again");
  EXPECT_THAT(table.notes, Contains(HasSubstr("1 earlier result(s)")));
}

Record measured_in(const nlohmann::json& conditions, const char* build, int64_t peak) {
  Record record = ok(Mode::kTraining, Precision::kFp32, 512, peak);
  record.environment = {{"conditions", conditions}, {"identity", {{"build", build}}}, {"cpu", "x"}};
  return record;
}

TEST(Report, EqualSettingsInAnotherEnvironmentAreAnotherRowAndSayWhatDiffers) {
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json cublas = {{"variables", {{"CUBLAS_WORKSPACE_CONFIG", ":0:0"}}}};
  const std::vector<Record> records = {measured_in(none, "b1", 2 * kGib),
                                       measured_in(cublas, "b1", 3 * kGib)};
  const Table summary = summary_table(records);
  expect_presentable({summary});
  ASSERT_EQ(summary.rows.size(), 2U);
  EXPECT_THAT(summary.rows[0], Contains("CUBLAS_WORKSPACE_CONFIG unset"));
  EXPECT_THAT(summary.rows[1], Contains("CUBLAS_WORKSPACE_CONFIG=:0:0"));
  EXPECT_THAT(summary.notes, Not(Contains(HasSubstr("Not shown"))));
  EXPECT_EQ(peak_memory_table(records).rows.size(), 2U);
  EXPECT_EQ(mixed_precision_tables(records).front().rows.size(), 2U);
  EXPECT_EQ(residuals_table(records).rows.size(), 2U);
  expect_presentable(mixed_precision_tables(records));
  expect_presentable({peak_memory_table(records), residuals_table(records)});
}

TEST(Report, OfAVirtualCardItsFiguresAreTheEnvironment) {
  const auto on = [](const char* card) {
    Record record = measured_in({{"card", card}}, "b1", kGib);
    record.spec.device = parse_device("virtual:h200");
    return record;
  };
  const Table table = summary_table({on("name=H200;total_bytes=1"), on("name=H200;total_bytes=2")});
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[1], Contains("card total_bytes=2"));
  Record elsewhere = on("name=H200;total_bytes=2");
  elsewhere.environment["cpu"] = "y";
  EXPECT_EQ(summary_table({on("name=H200;total_bytes=2"), elsewhere}).rows.size(), 1U);
}

TEST(Report, ANewerBuildsResultStandsForAnOlderOnesAndThatIsSaid) {
  const nlohmann::json none = nlohmann::json::object();
  const Table table =
      summary_table({measured_in(none, "b1", kGib), measured_in(none, "b2", 2 * kGib)});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_THAT(table.rows[0], Contains("2.000 GiB"));
  EXPECT_THAT(table.notes, Contains(HasSubstr("1 of them by another build")));
}

TEST(Report, AnOutOfMemoryHasItsFigures) {
  Record record = failed(Status::kOom, "warm-up step 1, backward: CUDA out of memory");
  record.out_of_memory = std::make_shared<const OutOfMemory>(
      OutOfMemory{.during = "warm-up step 1",
                  .phase = "backward",
                  .memory = "device",
                  .refusal = Refusal{kGib, {2 * kGib, 3 * kGib, 0}, 5, 9 * kGib}});
  const Table table = profile_report(record)[1];
  EXPECT_EQ(cell(table, "tried to allocate", "size"), "1.000 GiB");
  EXPECT_EQ(cell(table, "reserved, not allocated", "bytes"), std::to_string(kGib));
  EXPECT_THAT(table.notes, Contains(HasSubstr("warm-up step 1, backward")));
}

TEST(Report, ResultsOfDifferentDevicesAreNotMixedSilently) {
  Record a = ok(Mode::kForward, Precision::kFp32, 128, kGib);
  Record b = ok(Mode::kForward, Precision::kFp32, 256, kGib);
  a.environment["device"] = "NVIDIA H200";
  b.environment["device"] = {{"name", "cpu"}};
  EXPECT_THAT(summary_table({a, b}).notes,
              Contains(HasSubstr("different devices: NVIDIA H200, cpu")));
}

}  // namespace
}  // namespace headroom
