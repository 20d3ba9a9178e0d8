#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "profiling/report/figures/figure.h"
#include "profiling/report/figures/plot.h"
#include "profiling/report/rows/cells.h"

namespace headroom {

std::vector<Figure> predicted_beside_measured(const RecordPointers& records) {
  Figure figure{.title = "Predicted peak beside the measured one"};
  std::vector<std::pair<int64_t, int64_t>> peaks;  // measured, predicted
  double most = 1;
  for (const Record* record : records) {
    const auto measured = peak_allocated(*record);
    const auto predicted = record->predicted.find("peak_allocated_bytes");
    if (!measured || predicted == record->predicted.end()) continue;
    peaks.emplace_back(*measured, predicted->second);
    most = std::max({most, static_cast<double>(*measured), static_cast<double>(predicted->second)});
    figure.shown.push_back(record);
  }
  if (peaks.empty()) return {};
  Plot plot(figure.title, "measured, peak allocated", "predicted by theory", most, most);
  plot.add_byte_ticks_y();
  plot.add_byte_ticks_x();
  plot.add_path({{0, 0}, {most, most}}, "#8c8c8c", true);
  int64_t equal = 0;
  int64_t widest = 0;
  for (size_t i = 0; i < peaks.size(); ++i) {
    const auto [measured, predicted] = peaks[i];
    equal += measured == predicted ? 1 : 0;
    widest = std::max(widest, std::abs(measured - predicted));
    plot.add_dot(static_cast<double>(measured), static_cast<double>(predicted), plot_colour(0),
                 row_name(figure.shown[i]->spec) + ": measured " + bytes_in_full(measured) +
                     ", predicted " + bytes_in_full(predicted));
  }
  const auto count = static_cast<int64_t>(peaks.size());
  if (equal == count) {
    figure.notes.emplace_back("Every predicted peak is the measured one, to the byte.");
  } else {
    figure.notes.push_back(std::to_string(equal) + " of " + std::to_string(count) +
                           " peaks are equal to the byte; the largest difference is " +
                           bytes_in_full(widest) + ".");
  }
  figure.svg = plot.svg();
  return {std::move(figure)};
}

}  // namespace headroom
