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
  std::vector<std::string> by;       // settings, or kByTechniques; each set of values is a line
  std::string title;                 // "": made of the axes
};

// All settings that differ between the Records, named where they are not the default.
inline constexpr const char* kByTechniques = "techniques";

// "precision bf16, recompute full"; "no technique" where all of `fields` have their default.
std::string technique_text(const Record& record, const std::vector<const Field*>& fields);

// Records without both figures are left out, and a note says how many; a run out of memory is a
// cross at the top. Another note names the settings that differ within a line. Throws
// std::runtime_error, one line, if no Record has both.
Figure figure_of(const RecordPointers& records, const ChosenAxes& axes);

}  // namespace headroom
