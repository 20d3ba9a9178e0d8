// Tables of `headroom rlhf`. No torch here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/search/recommend.h"
#include "text/table.h"

namespace headroom {

// Capabilities of the terminal.
struct TextStyle {
  bool bars = false;    // a drawn bar beside each figure
  bool ascii = false;   // no characters beyond ASCII
  bool colour = false;  // ANSI escapes
  size_t width = 0;     // columns of the page; 0 = as wide as needed
};

// All results for one spec, computed once.
struct RlhfPlan {
  explicit RlhfPlan(const RlhfSpec& given);

  RlhfSpec spec;
  RlhfModels models;
  RankMemory worst;
  Recommendation recommendation;
};

// Comes first: the recommended set-up and the need for each of its steps, or the obstacle.
std::vector<Table> setup_report(const RlhfPlan& plan);

// Before the timeline drawing: configuration, phases, everything resident, transitions.
std::vector<Table> phase_report(const RlhfPlan& plan, const TextStyle& style);

// After it: fixed memory and growth with the batch, optimizer offload, key figures.
std::vector<Table> advice_report(const RlhfPlan& plan);

// "FITS: 70.1 GiB of 74.5 GiB, 94.1 % used, 4.4 GiB left per GPU" or "EXCEEDS ...".
std::string verdict(int64_t bytes, int64_t available);

}  // namespace headroom
