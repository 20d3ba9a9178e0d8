// Figures of Records, as SVG. No torch here.
//
// A figure whose Records are too few for it is empty. Colours of lines and letters are black: the
// report's page gives them the colours of its scheme.
#pragma once

#include <string>
#include <vector>

#include "profiling/report/rows/select.h"

namespace headroom {

struct Figure {
  std::string title;
  std::string svg;
  std::vector<std::string> notes;
  RecordPointers shown;  // their environments and commands belong to the figure
};

// Peak by context length, one line for each mode and precision; a figure for each model size or
// other setting that differs. Runs out of memory are crosses at the top.
std::vector<Figure> peaks_by_context(const RecordPointers& records);

// Each peak that theory predicts beside the measured one; on the line they are equal.
std::vector<Figure> predicted_beside_measured(const RecordPointers& records);

// Peak against the median step time, one point for each set of techniques; without times, the peaks
// as bars. A figure for each model size, context length and mode.
std::vector<Figure> techniques(const RecordPointers& records);

// Every measured step of each run, with the spread of its times.
std::vector<Figure> step_time_spreads(const RecordPointers& records);

}  // namespace headroom
