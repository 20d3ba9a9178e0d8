#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "profiling/report/figures/chosen_axes.h"
#include "profiling/report/figures/figure.h"
#include "profiling/report/figures/plot.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Record record_of(int64_t context, int64_t peak, const char* optimizer = "adamw") {
  Record record{.status = Status::kOk, .peak = MemoryBytes{.allocated = peak}};
  record.spec.model_size = "small";
  record.spec.context_length = context;
  record.spec.profile_type = Mode::kTraining;
  find_field("optimizer")->set(record.spec, optimizer);
  return record;
}

RecordPointers pointers(const std::vector<Record>& records) {
  RecordPointers all;
  for (const Record& record : records) all.push_back(&record);
  return all;
}

TEST(Figures, PeaksByContextHaveALineForEachMode) {
  std::vector<Record> records = {record_of(128, 1 << 20), record_of(256, 2 << 20)};
  records.push_back(record_of(512, 0));
  records.back().status = Status::kOom;
  const auto figures = peaks_by_context(pointers(records));
  ASSERT_THAT(figures, SizeIs(1));
  EXPECT_THAT(figures[0].svg, HasSubstr("training, fp32, context 256: 2.000 MiB (2097152 bytes)"));
  EXPECT_THAT(figures[0].svg, HasSubstr("training, fp32, context 512: oom"));
  EXPECT_THAT(figures[0].shown, SizeIs(3));
}

TEST(Figures, OneContextIsNoLine) {
  const std::vector<Record> records = {record_of(128, 1 << 20)};
  EXPECT_THAT(peaks_by_context(pointers(records)), IsEmpty());
  EXPECT_THAT(techniques(pointers(records)), IsEmpty());
  EXPECT_THAT(predicted_beside_measured(pointers(records)), IsEmpty());
}

TEST(Figures, PredictedPeaksSayTheirLargestDifference) {
  std::vector<Record> records = {record_of(128, 1000), record_of(256, 2000)};
  records[0].predicted["peak_allocated_bytes"] = 1000;
  records[1].predicted["peak_allocated_bytes"] = 1488;
  const auto figures = predicted_beside_measured(pointers(records));
  ASSERT_THAT(figures, SizeIs(1));
  EXPECT_THAT(figures[0].notes, ElementsAre(HasSubstr("1 of 2 peaks are equal to the byte; the "
                                                      "largest difference is 512 B")));
}

TEST(Figures, TechniquesWithoutTimesAreBars) {
  std::vector<Record> records = {record_of(128, 1 << 20), record_of(128, 2 << 20, "lion")};
  auto figures = techniques(pointers(records));
  ASSERT_THAT(figures, SizeIs(1));
  EXPECT_THAT(figures[0].svg, HasSubstr("optimizer lion: 2.000 MiB (2097152 bytes)"));
  for (Record& record : records) record.step_ms = {10, 11, 12};
  figures = techniques(pointers(records));
  EXPECT_THAT(figures[0].svg, HasSubstr("optimizer-lion: 2.000 MiB (2097152 bytes), 11.000 ms"));
  EXPECT_THAT(figures[0].svg, HasSubstr(">no technique</text>"));
  EXPECT_THAT(figures[0].title, HasSubstr("Techniques: small, context 128"));
}

TEST(Figures, EveryStepIsADot) {
  std::vector<Record> records = {record_of(128, 1 << 20)};
  EXPECT_THAT(step_time_spreads(pointers(records)), IsEmpty());
  records[0].step_ms = {10, 11, 12.5};
  const auto figures = step_time_spreads(pointers(records));
  ASSERT_THAT(figures, SizeIs(1));
  EXPECT_THAT(figures[0].svg, HasSubstr("small_ctx128_training_fp32: 12.500 ms"));
  EXPECT_THAT(figures[0].svg, HasSubstr(">11.000 ms</text>"));
}

TEST(Figures, ChosenAxesDrawALineForEachValueOfOtherSettings) {
  std::vector<Record> records = {record_of(128, 1 << 20), record_of(256, 2 << 20),
                                 record_of(128, 1 << 19, "lion")};
  records.push_back(record_of(256, 0, "lion"));
  records.back().status = Status::kOom;
  const Figure figure = figure_of(pointers(records), {.by = {"optimizer"}});
  EXPECT_EQ(figure.title, "Peak allocated by context length, tokens");
  EXPECT_THAT(figure.svg, HasSubstr("optimizer-lion: 512.000 KiB (524288 bytes)"));
  EXPECT_THAT(figure.svg, HasSubstr("lion: oom"));
  EXPECT_THAT(figure.svg, HasSubstr(">adamw</text>"));
  EXPECT_THAT(figure.shown, SizeIs(4));
  EXPECT_THAT(figure.notes, IsEmpty());
}

// Eight points and seven colours: they are numbered.
TEST(Figures, ChosenAxesNumberTheTechniquesOfPoints) {
  std::vector<Record> records;
  for (const char* optimizer : {"adamw", "lion"}) {
    for (const char* precision : {"fp32", "bf16", "fp16", "fp8"}) {
      records.push_back(record_of(128, 1 << 20, optimizer));
      find_field("precision")->set(records.back().spec, precision);
      records.back().step_ms = {10, 11, 12};
    }
  }
  const Figure figure = figure_of(pointers(records), {.x = "step-ms", .by = {kByTechniques}});
  EXPECT_THAT(figure.svg, HasSubstr(">1 no technique</text>"));
  EXPECT_THAT(figure.svg, HasSubstr(">8 precision fp8, optimizer lion</text>"));
  EXPECT_THAT(figure.svg, HasSubstr(">8</text>"));
  EXPECT_THAT(figure.notes, ElementsAre(HasSubstr("10th to the 90th percentile")));
}

TEST(Figures, ChosenAxesNameTheSettingsThatDifferWithinALine) {
  const std::vector<Record> records = {record_of(128, 1 << 20), record_of(128, 1 << 19, "lion")};
  EXPECT_THAT(figure_of(pointers(records), {}).notes,
              ElementsAre(HasSubstr("differ in optimizer; --by")));
}

TEST(Figures, ChosenAxesNeedBothFigures) {
  std::vector<Record> records = {record_of(128, 1 << 20), record_of(256, 2 << 20)};
  EXPECT_THROW(figure_of(pointers(records), {.x = "step-ms"}), std::runtime_error);
  records[0].step_ms = {10, 11, 12};
  const Figure figure = figure_of(pointers(records), {.x = "step-ms"});
  EXPECT_THAT(figure.shown, SizeIs(1));
  EXPECT_THAT(figure.notes,
              ElementsAre(HasSubstr("percentile"), HasSubstr("Not shown: 1 of 2 Records")));
}

TEST(Figures, TextsBesidePointsDoNotCoverEachOther) {
  Plot plot("title", "x", "y", 100, 100);
  for (const char* text : {"first", "second"}) {
    plot.add_dot(50, 50, plot_colour(0), text);
    plot.add_text(50, 50, text);
  }
  const auto place_of = [svg = plot.svg()](const std::string& text) {
    const size_t end = svg.find(">" + text + "</text>");
    return svg.substr(svg.rfind("<text", end), end - svg.rfind("<text", end));
  };
  EXPECT_NE(place_of("first"), place_of("second"));
}

TEST(Figures, NumbersHaveRoundSteps) {
  Plot plot("title", "x", "y", 1732.5, 1);
  plot.add_number_ticks_x();
  EXPECT_THAT(plot.svg(),
              AllOf(HasSubstr(">500</text>"), HasSubstr(">1500</text>"), Not(HasSubstr(">1732"))));
}

TEST(Figures, BytesHaveRoundSteps) {
  EXPECT_THAT(byte_steps(5 << 20), ElementsAre(0, 1 << 20, 2 << 20, 3 << 20, 4 << 20, 5 << 20));
  EXPECT_THAT(byte_steps(1), ElementsAre(0, 1));
}

}  // namespace
}  // namespace headroom
