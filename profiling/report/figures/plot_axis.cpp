#include "profiling/report/figures/plot_axis.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "profiling/report/rows/cells.h"
#include "profiling/report/times/step_times.h"
#include "text/words.h"

namespace headroom {

struct MeasuredFigure {
  const char* name;
  const char* label;
  bool is_bytes;
  std::optional<double> (*of)(const Record& record);
};

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

}  // namespace

std::vector<std::string> measured_figure_names() {
  std::vector<std::string> names;
  names.reserve(kMeasuredFigures.size());
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

PlotAxis::PlotAxis(const RecordPointers& records, const std::string& name)
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

bool PlotAxis::is_bytes() const { return figure_ != nullptr && figure_->is_bytes; }

std::string PlotAxis::label() const {
  if (figure_ != nullptr) return figure_->label;
  return readable(setting_->name) + (setting_->name == "context_length" ? ", tokens" : "");
}

std::optional<double> PlotAxis::of(const Record& record) const {
  if (figure_ != nullptr) return figure_->of(record);
  const std::string text = setting_text(record, *setting_);
  if (!are_words_) return std::strtod(text.c_str(), nullptr);
  const auto place = std::find(words_.begin(), words_.end(), text);
  return static_cast<double>(place - words_.begin()) + 0.5;
}

std::string PlotAxis::text(double value) const {
  return is_bytes() ? bytes_in_full(static_cast<int64_t>(value)) : number_text(value, 3) + " ms";
}

std::optional<std::pair<double, double>> PlotAxis::spread_of(const Record& record) const {
  if (!is_figure() || is_bytes()) return std::nullopt;
  const auto times = *step_times(record.step_ms);
  return std::pair(times.p10_ms, times.p90_ms);
}

double PlotAxis::most(double highest) const {
  constexpr double kMargin = 1.05;  // for the bars and numbers of the last points
  if (is_figure()) return highest * kMargin;
  return are_words_ ? static_cast<double>(words_.size()) : highest;
}

std::vector<std::pair<double, std::string>> PlotAxis::ticks() const {
  std::vector<std::pair<double, std::string>> ticks;
  for (size_t i = 0; i < words_.size(); ++i) {
    const double at =
        are_words_ ? static_cast<double>(i) + 0.5 : std::strtod(words_[i].c_str(), nullptr);
    ticks.emplace_back(at, words_[i]);
  }
  std::sort(ticks.begin(), ticks.end());
  return ticks;
}

}  // namespace headroom
