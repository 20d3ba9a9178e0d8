#include "profiling/report/figures/chosen_axes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "profiling/report/figures/plot.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/times/step_times.h"
#include "text/words.h"

namespace headroom {
namespace {

std::optional<double> as_number(std::optional<int64_t> value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

std::optional<double> peak_of(const Record& record) { return as_number(peak_allocated(record)); }

std::optional<double> reserved_of(const Record& record) {
  if (!peak_allocated(record)) return std::nullopt;
  return static_cast<double>(record.peak->reserved);
}

std::optional<double> requested_of(const Record& record) {
  if (!peak_allocated(record)) return std::nullopt;
  return static_cast<double>(record.peak->requested);
}

std::optional<double> saved_of(const Record& record) { return as_number(record.saved_bytes); }

std::optional<double> predicted_of(const Record& record) {
  const auto found = record.predicted.find("peak_allocated_bytes");
  if (found == record.predicted.end()) return std::nullopt;
  return static_cast<double>(found->second);
}

std::optional<double> step_ms_of(const Record& record) {
  const auto times = step_times(record.step_ms);
  return times ? std::optional<double>(times->median_ms) : std::nullopt;
}

struct MeasuredFigure {
  const char* name;
  const char* label;
  bool is_bytes;
  std::optional<double> (*of)(const Record& record);
};

constexpr auto kMeasuredFigures = std::to_array<MeasuredFigure>({
    {"peak", "peak allocated", true, peak_of},
    {"reserved", "peak reserved", true, reserved_of},
    {"requested", "peak requested", true, requested_of},
    {"saved", "saved for backward", true, saved_of},
    {"predicted", "peak predicted by theory", true, predicted_of},
    {"step-ms", "median step, ms", false, step_ms_of},
});

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const MeasuredFigure* find_figure(const std::string& name) {
  const auto found = std::find_if(
      kMeasuredFigures.begin(), kMeasuredFigures.end(),
      [&](const MeasuredFigure& figure) { return underscored(figure.name) == underscored(name); });
  return found == kMeasuredFigures.end() ? nullptr : &*found;
}

// The values of an axis: numbers, or words in their order of appearance.
class Axis {
 public:
  Axis(const RecordPointers& records, const std::string& name)
      : figure_(find_figure(name)), setting_(figure_ ? nullptr : find_setting(name)) {
    if (setting_ == nullptr) return;
    for (const Record* record : records) {
      const std::string text = setting_text(*record, *setting_);
      char* end = nullptr;
      std::strtod(text.c_str(), &end);
      are_words_ |= end == text.c_str() || *end != '\0';
      if (!is_one_of(text, words_)) words_.push_back(text);
    }
  }

  bool is_bytes() const { return figure_ != nullptr && figure_->is_bytes; }
  bool is_figure() const { return figure_ != nullptr; }

  std::string label() const {
    if (figure_ != nullptr) return figure_->label;
    return readable(setting_->name) + (setting_->name == "context_length" ? ", tokens" : "");
  }

  std::optional<double> of(const Record& record) const {
    if (figure_ != nullptr) return figure_->of(record);
    const std::string text = setting_text(record, *setting_);
    if (!are_words_) return std::strtod(text.c_str(), nullptr);
    const auto place = std::find(words_.begin(), words_.end(), text);
    return static_cast<double>(place - words_.begin()) + 0.5;
  }

  double most(double highest) const {
    return are_words_ ? static_cast<double>(words_.size()) : highest;
  }

  // Each value of a setting that occurs.
  std::vector<std::pair<double, std::string>> ticks() const {
    std::vector<std::pair<double, std::string>> ticks;
    for (size_t i = 0; i < words_.size(); ++i) {
      const double at =
          are_words_ ? static_cast<double>(i) + 0.5 : std::strtod(words_[i].c_str(), nullptr);
      ticks.emplace_back(at, words_[i]);
    }
    std::sort(ticks.begin(), ticks.end());
    return ticks;
  }

 private:
  const MeasuredFigure* figure_;
  const Field* setting_;
  bool are_words_ = false;
  std::vector<std::string> words_;
};

std::string line_name(const Record& record, const std::vector<const Field*>& by) {
  std::vector<std::string> words;
  words.reserve(by.size());
  for (const Field* field : by) {
    words.push_back(field->value == FieldValue::kWord || field->value == FieldValue::kText
                        ? setting_text(record, *field)
                        : readable(field->name) + " " + setting_text(record, *field));
  }
  return join(words);
}

// Records that the figure shows, by line; `left_out` counts the others.
using Lines = std::vector<std::pair<std::string, RecordPointers>>;

Lines lines_of(const RecordPointers& records, const std::vector<const Field*>& by, const Axis& x,
               const Axis& y, int64_t& left_out) {
  Lines lines;
  for (const Record* record : records) {
    const bool is_cross = record->status == Status::kOom && !x.is_figure();
    if (!x.of(*record) || (!y.of(*record) && !is_cross)) {
      ++left_out;
      continue;
    }
    const std::string name = line_name(*record, by);
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

double highest_of(const Lines& lines, const Axis& axis) {
  double highest = 0;
  for (const auto& [name, line] : lines) {
    for (const Record* record : line) highest = std::max(highest, axis.of(*record).value_or(0));
  }
  return highest;
}

void draw_line(Plot& plot, size_t number, const std::string& name, const RecordPointers& line,
               const Axis& x, const Axis& y) {
  const char* colour = plot_colour(number);
  const bool is_dashed = is_plot_dashed(number);
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
    const std::string text =
        y.is_bytes() ? bytes_in_full(static_cast<int64_t>(*value)) : number_text(*value, 3) + " ms";
    plot.add_dot(at, *value, colour, row_name(record->spec) + ": " + text);
  }
  if (is_a_line) plot.add_path(points, colour, is_dashed);
  if (!name.empty()) plot.add_key(colour, is_dashed && is_a_line, name);
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

std::vector<std::string> measured_figure_names() {
  std::vector<std::string> names;
  for (const MeasuredFigure& figure : kMeasuredFigures) names.emplace_back(figure.name);
  return names;
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const Field& field : fields()) {
    if (field.changes_result) names.push_back(without_dashes(field.flag()));
  }
  return names;
}

const Field* find_setting(const std::string& name) {
  const Field* field = find_field(underscored(name));
  return field != nullptr ? field : find_flag("--" + name);
}

Figure figure_of(const RecordPointers& records, const ChosenAxes& axes) {
  const Axis x(records, axes.x);
  const Axis y(records, axes.y);
  std::vector<const Field*> by;
  std::vector<std::string> shown;
  for (const std::string& name : axes.by) {
    by.push_back(find_setting(name));
    shown.push_back(by.back()->name);
  }
  if (const Field* setting = find_setting(axes.x)) shown.push_back(setting->name);
  int64_t left_out = 0;
  const Lines lines = lines_of(records, by, x, y, left_out);
  if (lines.empty()) {
    throw std::runtime_error("none of " + std::to_string(records.size()) + " Records has " +
                             x.label() + " and " + y.label());
  }
  Figure figure{.title = capitalized(y.label() + " by " + x.label())};
  Plot plot(figure.title, x.label(), y.label(), x.most(highest_of(lines, x)), highest_of(lines, y));
  y.is_bytes() ? plot.add_byte_ticks_y() : plot.add_number_ticks_y();
  if (!x.is_figure()) plot.add_x_ticks(x.ticks());
  if (x.is_figure()) x.is_bytes() ? plot.add_byte_ticks_x() : plot.add_number_ticks_x();
  for (size_t i = 0; i < lines.size(); ++i) {
    draw_line(plot, i, lines[i].first, lines[i].second, x, y);
    figure.shown.insert(figure.shown.end(), lines[i].second.begin(), lines[i].second.end());
  }
  figure.svg = plot.svg();
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
