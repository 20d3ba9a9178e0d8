#include <algorithm>
#include <utility>

#include "profiling/report/figures/figure.h"
#include "profiling/report/figures/plot.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/times/step_times.h"

namespace headroom {
namespace {

constexpr size_t kMostRuns = 60;
constexpr double kRunHeight = 22;
constexpr double kSpreadLeft = 120;
constexpr double kSpreadWidth = 360;

// A line from the 10th to the 90th percentile, and a dot for each step.
std::string run_of_steps(const Record& record, const StepTimes& times, double scale, double y) {
  const std::string name = row_name(record.spec);
  const auto x_of = [&](double ms) { return kSpreadLeft + ms * scale; };
  std::string svg =
      svg_path({{x_of(times.p10_ms), y}, {x_of(times.p90_ms), y}}, plot_colour(0), false);
  for (const double ms : record.step_ms) {
    svg += svg_dot(x_of(ms), y, plot_colour(0), name + ": " + number_text(ms, 3) + " ms");
  }
  svg += svg_label(kSpreadLeft - 8, y + 4, "end", number_text(times.median_ms, 3) + " ms");
  return svg + svg_label(kSpreadLeft + kSpreadWidth + 12, y + 4, "start", name);
}

}  // namespace

std::vector<Figure> step_time_spreads(const RecordPointers& records) {
  Figure figure{.title = "Time of each measured step"};
  double most_ms = 0;
  size_t longest = 0;
  for (const Record* record : records) {
    const auto times = step_times(record->step_ms);
    if (record->status != Status::kOk || !times || figure.shown.size() == kMostRuns) continue;
    figure.shown.push_back(record);
    most_ms = std::max(most_ms, times->max_ms);
    longest = std::max(longest, row_name(record->spec).size());
  }
  if (figure.shown.empty() || most_ms <= 0) return {};
  figure.svg = svg_head(kSpreadLeft + kSpreadWidth + 20 + 7.3 * static_cast<double>(longest),
                        48 + kRunHeight * static_cast<double>(figure.shown.size()), figure.title) +
               svg_label(8, 20, "start", figure.title);
  double y = 48;
  for (const Record* record : figure.shown) {
    figure.svg += run_of_steps(*record, *step_times(record->step_ms), kSpreadWidth / most_ms, y);
    y += kRunHeight;
  }
  figure.svg += "</svg>\n";
  figure.notes.emplace_back(
      "Left the median. A dot is a step, the line is the 10th to the 90th percentile; the axis "
      "begins at 0.");
  return {std::move(figure)};
}

}  // namespace headroom
