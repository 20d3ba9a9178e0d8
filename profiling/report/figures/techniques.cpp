#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "profiling/report/figures/chosen_axes.h"
#include "profiling/report/figures/figure.h"
#include "profiling/report/figures/plot.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/times/step_times.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr size_t kMostBars = 60;
constexpr size_t kMostOfTechniques = 8;  // figures

Figure draw_bars(Figure figure, const std::vector<const Field*>& fields) {
  constexpr double kLine = 22;
  constexpr double kBarLeft = 110;
  constexpr double kBarWidth = 300;
  std::stable_sort(figure.shown.begin(), figure.shown.end(), [](const Record* a, const Record* b) {
    return *peak_allocated(*a) > *peak_allocated(*b);
  });
  if (figure.shown.size() > kMostBars) {
    figure.notes.push_back("The " + std::to_string(kMostBars) + " highest peaks of " +
                           std::to_string(figure.shown.size()) + ".");
    figure.shown.resize(kMostBars);
  }
  size_t longest = 0;
  for (const Record* record : figure.shown) {
    longest = std::max(longest, technique_text(*record, fields).size());
  }
  const auto most = static_cast<double>(*peak_allocated(*figure.shown.front()));
  std::string svg = svg_head(kBarLeft + kBarWidth + 20 + 7.3 * static_cast<double>(longest),
                             40 + kLine * static_cast<double>(figure.shown.size()), figure.title);
  svg += svg_label(8, 20, "start", figure.title);
  double y = 34;
  for (const Record* record : figure.shown) {
    const int64_t bytes = *peak_allocated(*record);
    const std::string name = technique_text(*record, fields);
    const double width = most > 0 ? kBarWidth * static_cast<double>(bytes) / most : 0;
    svg += svg_label(kBarLeft - 8, y + 13, "end", format_bytes(bytes));
    svg += svg_rectangle(kBarLeft, y, width, kLine - 6, plot_colour(0),
                         name + ": " + bytes_in_full(bytes));
    svg += svg_label(kBarLeft + kBarWidth + 8, y + 13, "start", name);
    y += kLine;
  }
  figure.svg = svg + "</svg>\n";
  return figure;
}

}  // namespace

std::vector<Figure> techniques(const RecordPointers& records) {
  // Runs that differ in these are not alternatives of one another.
  const std::vector<std::string> own = {"model_size", "context_length", "batch_size",
                                        "profile_type", "device"};
  std::vector<const Field*> fixed;
  fixed.reserve(own.size());
  for (const std::string& name : own) fixed.push_back(find_field(name));
  std::vector<std::string> order;
  std::map<std::string, RecordPointers> groups;
  for (const Record* record : records) {
    if (!peak_allocated(*record)) continue;
    const std::string key = group_key(*record, fixed);
    if (!groups.contains(key)) order.push_back(key);
    groups[key].push_back(record);
  }
  std::vector<Figure> drawn;
  for (const std::string& key : order) {
    RecordPointers& group = groups.at(key);
    const auto fields = varying_fields(group, own);
    if (group.size() < 2 || fields.empty() || drawn.size() >= kMostOfTechniques) continue;
    const RunSpec& spec = group.front()->spec;
    const std::string title = "Techniques: " + spec.model_size + ", context " +
                              std::to_string(spec.context_length) + ", batch " +
                              std::to_string(spec.batch_size) + ", " + to_string(spec.profile_type);
    const bool has_times = std::all_of(group.begin(), group.end(), [](const Record* record) {
      return step_times(record->step_ms).has_value();
    });
    drawn.push_back(has_times
                        ? figure_of(group, {.x = "step-ms", .by = {kByTechniques}, .title = title})
                        : draw_bars({.title = title, .shown = group}, fields));
  }
  return drawn;
}

}  // namespace headroom
