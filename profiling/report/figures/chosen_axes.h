// A figure of chosen axes: a measured figure against a setting or against another figure. No torch
// here.
#pragma once

#include <string>
#include <vector>

#include "profiling/report/figures/figure.h"

namespace headroom {

struct ChosenAxes {
  std::string x = "context_length";  // a setting (a row of fields()) or a measured figure
  std::string y = "peak";            // a measured figure
  std::vector<std::string> by;       // settings; each set of their values is a line
};

std::vector<std::string> measured_figure_names();  // "peak", "reserved", ...
std::vector<std::string> setting_names();          // "model-size", ...

// The setting of that name, with dashes or underscores, or by its flag's other spellings; nullptr
// if there is none.
const Field* find_setting(const std::string& name);

// Records without both figures are left out, and a note says how many; a run out of memory is a
// cross at the top. Another note names the settings that differ within a line. Throws
// std::runtime_error, one line, if no Record has both.
Figure figure_of(const RecordPointers& records, const ChosenAxes& axes);

}  // namespace headroom
