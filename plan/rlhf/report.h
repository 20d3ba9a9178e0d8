// What `headroom rlhf` prints, as tables. No torch here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/search/recommend.h"
#include "text/table.h"

namespace headroom {

// What a terminal can show.
struct TextStyle {
  bool bars = false;    // a drawn bar beside each figure
  bool ascii = false;   // no characters beyond ASCII
  bool colour = false;  // ANSI escapes
  size_t width = 0;     // columns of the page; 0 = as wide as needed
};

// Everything of one spec, computed once.
struct RlhfPlan {
  explicit RlhfPlan(const RlhfSpec& given);

  RlhfSpec spec;
  RlhfModels models;
  RankMemory worst;
  Recommendation recommendation;
};

// First of all: the set-up to take, and why each of its steps is needed, or what is in the way.
std::vector<Table> setup_report(const RlhfPlan& plan);

// Before the timeline drawing: configuration, the phases, everything resident, what moves.
std::vector<Table> phase_report(const RlhfPlan& plan, const TextStyle& style);

// After it: what is fixed and what grows with the batch, optimizer offload, the lessons in figures.
std::vector<Table> advice_report(const RlhfPlan& plan);

// "FITS: 70.1 GiB of 74.5 GiB, 94.1 % used, 4.4 GiB left per GPU" or "EXCEEDS ...".
std::string verdict(int64_t bytes, int64_t available);

}  // namespace headroom
