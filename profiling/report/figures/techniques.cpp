#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "profiling/report/figures/figure.h"
#include "profiling/report/figures/plot.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/times/step_times.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr size_t kMostBars = 60;
constexpr size_t kMostOfTechniques = 8;  // figures

// The settings that are not the default: "precision bf16, recompute full".
std::string technique_text(const Record& record, const std::vector<const Field*>& fields) {
  const RunSpec plain;
  std::vector<std::string> words;
  for (const Field* field : fields) {
    if (field->same(record.spec, plain)) continue;
    const std::string name = readable(field->name);
    words.push_back(field->is_switch() ? name : name + " " + setting_text(record, *field));
  }
  return words.empty() ? "no technique" : join(words);
}

Figure draw_times(Figure figure, const std::vector<const Field*>& fields) {
  double most_ms = 0;
  double most_bytes = 1;
  for (const Record* record : figure.shown) {
    most_ms = std::max(most_ms, step_times(record->step_ms)->p90_ms);
    most_bytes = std::max(most_bytes, static_cast<double>(*peak_allocated(*record)));
  }
  Plot plot(figure.title, "median step, ms", "peak allocated", most_ms, most_bytes);
  plot.add_byte_ticks_y();
  plot.add_number_ticks_x();
  for (size_t i = 0; i < figure.shown.size(); ++i) {
    const Record& record = *figure.shown[i];
    const auto times = *step_times(record.step_ms);
    const auto bytes = static_cast<double>(*peak_allocated(record));
    const std::string name = technique_text(record, fields);
    plot.add_path({{times.p10_ms, bytes}, {times.p90_ms, bytes}}, plot_colour(i), false);
    plot.add_dot(times.median_ms, bytes, plot_colour(i),
                 name + ": " + bytes_in_full(*peak_allocated(record)) + ", median " +
                     number_text(times.median_ms, 3) + " ms");
    // Colours begin again after seven, numbers do not.
    plot.add_text(times.median_ms, bytes, std::to_string(i + 1));
    plot.add_key(plot_colour(i), false, std::to_string(i + 1) + " " + name);
  }
  figure.notes.emplace_back(
      "The bar through a point is the 10th to the 90th percentile of its steps.");
  figure.svg = plot.svg();
  return figure;
}

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
    Figure figure{.title = "Techniques: " + spec.model_size + ", context " +
                           std::to_string(spec.context_length) + ", batch " +
                           std::to_string(spec.batch_size) + ", " + to_string(spec.profile_type),
                  .shown = group};
    const bool has_times = std::all_of(group.begin(), group.end(), [](const Record* record) {
      return step_times(record->step_ms).has_value();
    });
    drawn.push_back(has_times ? draw_times(std::move(figure), fields)
                              : draw_bars(std::move(figure), fields));
  }
  return drawn;
}

}  // namespace headroom
