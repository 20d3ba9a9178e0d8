// One axis of a figure: a setting of Records, or a figure that was measured. No torch here.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiling/report/rows/select.h"

namespace headroom {

std::vector<std::string> measured_figure_names();  // "peak", "reserved", ...
std::vector<std::string> setting_names();          // "model-size", ...

// The setting of that name, with dashes or underscores, or by its flag's other spellings; nullptr
// if there is none.
const Field* find_setting(const std::string& name);

struct MeasuredFigure;

class PlotAxis {
 public:
  // name: of a setting or of a measured figure. A setting's values are numbers, or words in their
  // order of appearance.
  PlotAxis(const RecordPointers& records, const std::string& name);

  bool is_bytes() const;
  bool is_figure() const { return figure_ != nullptr; }
  std::string label() const;
  std::optional<double> of(const Record& record) const;  // the place on the axis
  std::string text(double value) const;  // of a figure: "1.000 GiB (1073741824 bytes)"

  // From the 10th to the 90th percentile; none of bytes, which do not vary.
  std::optional<std::pair<double, double>> spread_of(const Record& record) const;

  // The end of the axis.
  double most(double highest) const;

  // Each value of a setting that occurs.
  std::vector<std::pair<double, std::string>> ticks() const;

 private:
  const MeasuredFigure* figure_;
  const Field* setting_;
  bool are_words_ = false;
  std::vector<std::string> words_;
};

}  // namespace headroom
