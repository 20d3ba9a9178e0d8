#include "profiling/report/figures/chosen_axes.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "profiling/report/figures/plot.h"
#include "profiling/report/figures/plot_axis.h"
#include "profiling/report/rows/cells.h"
#include "text/words.h"

namespace headroom {
namespace {

// The settings that tell lines apart. `techniques`: those that --by techniques adds, which are
// named only where they are not the default.
struct LineSettings {
  std::vector<const Field*> by, techniques;
  bool are_techniques = false;

  std::string name_of(const Record& record) const {
    std::vector<std::string> words;
    for (const Field* field : by) {
      words.push_back(field->value == FieldValue::kWord || field->value == FieldValue::kText
                          ? setting_text(record, *field)
                          : readable(field->name) + " " + setting_text(record, *field));
    }
    if (are_techniques) words.push_back(technique_text(record, techniques));
    return join(words);
  }
};

LineSettings line_settings(const RecordPointers& records, const ChosenAxes& axes,
                           std::vector<std::string>& shown) {
  LineSettings settings;
  for (const std::string& name : axes.by) {
    settings.are_techniques |= name == kByTechniques;
    if (name != kByTechniques) settings.by.push_back(find_setting(name));
  }
  for (const Field* field : settings.by) shown.push_back(field->name);
  if (!settings.are_techniques) return settings;
  settings.techniques = varying_fields(records, shown);
  for (const Field* field : settings.techniques) shown.push_back(field->name);
  return settings;
}

// Records that the figure shows, by line; `left_out` counts the others.
using Lines = std::vector<std::pair<std::string, RecordPointers>>;

Lines lines_of(const RecordPointers& records, const LineSettings& settings, const PlotAxis& x,
               const PlotAxis& y, int64_t& left_out) {
  Lines lines;
  for (const Record* record : records) {
    const bool is_cross = record->status == Status::kOom && !x.is_figure();
    if (!x.of(*record) || (!y.of(*record) && !is_cross)) {
      ++left_out;
      continue;
    }
    const std::string name = settings.name_of(*record);
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const auto& known) { return known.first == name; });
    if (line == lines.end()) line = lines.insert(line, {name, {}});
    line->second.push_back(record);
  }
  for (auto& [name, line] : lines) {
    std::stable_sort(line.begin(), line.end(),
                     [&](const Record* a, const Record* b) { return *x.of(*a) < *x.of(*b); });
  }
  return lines;
}

double highest_of(const Lines& lines, const PlotAxis& axis) {
  double highest = 0;
  for (const auto& [name, line] : lines) {
    for (const Record* record : line) highest = std::max(highest, axis.of(*record).value_or(0));
  }
  return highest;
}

// Draws the marks of a line, and returns its points.
std::vector<SvgPoint> draw_line(Plot& plot, size_t number, const std::string& name,
                                const RecordPointers& line, const PlotAxis& x, const PlotAxis& y) {
  const char* colour = plot_colour(number);
  std::vector<SvgPoint> points;
  bool is_a_line = !x.is_figure();  // a point for each value of the setting
  for (const Record* record : line) {
    const double at = *x.of(*record);
    const auto value = y.of(*record);
    if (!value) {
      plot.add_cross_at_top(at, colour, name + ": " + status_or_not_available(*record));
      continue;
    }
    is_a_line &= points.empty() || points.back().x < at;
    points.push_back({at, *value});
    if (const auto spread = x.spread_of(*record)) {
      plot.add_path({{spread->first, *value}, {spread->second, *value}}, colour, false);
    }
    plot.add_dot(
        at, *value, colour,
        row_name(record->spec) + ": " + y.text(*value) + (x.is_figure() ? ", " + x.text(at) : ""));
  }
  if (is_a_line) plot.add_path(points, colour, is_plot_dashed(number));
  return points;
}

// Colours begin again after the last one; numbers do not, so points that no line joins have them.
void draw_lines(Plot& plot, const Lines& lines, const PlotAxis& x, const PlotAxis& y) {
  const bool are_numbered = x.is_figure() && is_plot_dashed(lines.size() - 1);
  std::vector<std::pair<SvgPoint, std::string>> numbers;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& [name, line] = lines[i];
    const std::vector<SvgPoint> points = draw_line(plot, i, name, line, x, y);
    std::string key = name;
    if (are_numbered) {
      const std::string number = std::to_string(i + 1);
      for (const SvgPoint& point : points) numbers.emplace_back(point, number);
      key.insert(0, number + " ");
    }
    const bool is_dashed = is_plot_dashed(i) && !x.is_figure();
    if (!name.empty()) plot.add_key(plot_colour(i), is_dashed, key);
  }
  for (const auto& [point, number] : numbers) plot.add_text(point.x, point.y, number);
}

std::string varying_note(const Lines& lines, const std::vector<std::string>& shown) {
  constexpr size_t kMostNames = 4;
  std::vector<std::string> names;
  for (const auto& [name, line] : lines) {
    for (const Field* field : varying_fields(line, shown)) {
      const std::string flag = without_dashes(field->flag());
      if (!is_one_of(flag, names)) names.push_back(flag);
    }
  }
  if (names.empty()) return "";
  const size_t others = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - others);
  return "Points of one colour differ in " + join(names) +
         (others > 0 ? " and " + std::to_string(others) + " more settings" : "") +
         "; --by gives each a colour.";
}

std::string capitalized(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

}  // namespace

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

Figure figure_of(const RecordPointers& records, const ChosenAxes& axes) {
  const PlotAxis x(records, axes.x);
  const PlotAxis y(records, axes.y);
  std::vector<std::string> shown;
  if (const Field* setting = find_setting(axes.x)) shown.push_back(setting->name);
  const LineSettings settings = line_settings(records, axes, shown);
  int64_t left_out = 0;
  const Lines lines = lines_of(records, settings, x, y, left_out);
  if (lines.empty()) {
    throw std::runtime_error("none of " + std::to_string(records.size()) + " Records has " +
                             x.label() + " and " + y.label());
  }
  Figure figure{.title =
                    axes.title.empty() ? capitalized(y.label() + " by " + x.label()) : axes.title};
  Plot plot(figure.title, x.label(), y.label(), x.most(highest_of(lines, x)), highest_of(lines, y));
  y.is_bytes() ? plot.add_byte_ticks_y() : plot.add_number_ticks_y();
  if (!x.is_figure()) plot.add_x_ticks(x.ticks());
  if (x.is_figure()) x.is_bytes() ? plot.add_byte_ticks_x() : plot.add_number_ticks_x();
  draw_lines(plot, lines, x, y);
  figure.svg = plot.svg();
  for (const auto& [name, line] : lines) {
    figure.shown.insert(figure.shown.end(), line.begin(), line.end());
  }
  if (x.is_figure() && !x.is_bytes()) {
    figure.notes.emplace_back(
        "The bar through a point is the 10th to the 90th percentile of its steps.");
  }
  const std::string varying = varying_note(lines, shown);
  if (!varying.empty()) figure.notes.push_back(varying);
  if (left_out > 0) {
    figure.notes.push_back("Not shown: " + std::to_string(left_out) + " of " +
                           std::to_string(records.size()) + " Records, which lack " + x.label() +
                           " or " + y.label() + ".");
  }
  return figure;
}

}  // namespace headroom
