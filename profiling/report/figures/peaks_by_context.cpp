#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "profiling/report/figures/figure.h"
#include "profiling/report/figures/plot.h"
#include "profiling/report/rows/cells.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr size_t kMostFigures = 12;  // more are no picture

// The settings that differ, as a heading: "small, batch size 4".
std::string settings_text(const Record& record, const std::vector<const Field*>& fields) {
  std::vector<std::string> words;
  for (const Field* field : fields) {
    const std::string value = setting_text(record, *field);
    words.push_back(std::string(field->name) == "model_size" ? value
                                                             : readable(field->name) + " " + value);
  }
  return join(words);
}

using LinesOfFigure = std::map<std::string, RecordPointers>;  // by mode and precision

Figure draw_peaks(const std::string& heading, const LinesOfFigure& lines) {
  double most_context = 1;
  double most_bytes = 1;
  std::map<int64_t, std::string> contexts;
  for (const auto& [name, records] : lines) {
    for (const Record* record : records) {
      contexts.emplace(record->spec.context_length, std::to_string(record->spec.context_length));
      most_context = std::max(most_context, static_cast<double>(record->spec.context_length));
      most_bytes = std::max(most_bytes, static_cast<double>(peak_allocated(*record).value_or(0)));
    }
  }
  Figure figure{.title = "Peak by context length" + (heading.empty() ? "" : ": " + heading)};
  Plot plot(figure.title, "context length, tokens", "peak allocated", most_context, most_bytes);
  plot.add_byte_ticks_y();
  plot.add_x_ticks({contexts.begin(), contexts.end()});
  size_t number = 0;
  for (const auto& [name, records] : lines) {
    const char* colour = plot_colour(number);
    const bool dashed = is_plot_dashed(number);
    std::vector<SvgPoint> points;
    for (const Record* record : records) {
      const auto x = static_cast<double>(record->spec.context_length);
      const auto peak = peak_allocated(*record);
      const std::string at = name + ", context " + std::to_string(record->spec.context_length);
      if (peak) {
        points.push_back({x, static_cast<double>(*peak)});
        plot.add_dot(x, static_cast<double>(*peak), colour, at + ": " + bytes_in_full(*peak));
      } else {
        plot.add_cross_at_top(x, colour, at + ": " + status_or_not_available(*record));
      }
      figure.shown.push_back(record);
    }
    plot.add_path(points, colour, dashed);
    plot.add_key(colour, dashed, name);
    ++number;
  }
  figure.svg = plot.svg();
  return figure;
}

}  // namespace

std::vector<Figure> peaks_by_context(const RecordPointers& records) {
  const std::vector<std::string> own = {"context_length", "profile_type", "precision"};
  const auto fields = varying_fields(records, own);
  std::vector<std::string> order;
  std::map<std::string, LinesOfFigure> figures;
  for (const Record* record : records) {
    const std::string key = settings_text(*record, fields);
    if (!figures.contains(key)) order.push_back(key);
    const std::string line =
        to_string(record->spec.profile_type) + ", " + to_string(record->spec.precision);
    figures[key][line].push_back(record);
  }
  std::vector<Figure> drawn;
  for (const std::string& key : order) {
    LinesOfFigure& lines = figures.at(key);
    bool has_contexts = false;
    for (auto& [name, line] : lines) {
      std::stable_sort(line.begin(), line.end(), [](const Record* a, const Record* b) {
        return a->spec.context_length < b->spec.context_length;
      });
      has_contexts |= line.front()->spec.context_length < line.back()->spec.context_length;
    }
    if (has_contexts && drawn.size() < kMostFigures) drawn.push_back(draw_peaks(key, lines));
  }
  return drawn;
}

}  // namespace headroom
