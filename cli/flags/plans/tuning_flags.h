// The flags of headroom finetune that describe the training. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/flags.h"
#include "cli/flags/plans/recipe_flags.h"
#include "plan/recipes/fine_tuning.h"

namespace headroom {

std::vector<Flag> tuning_flags();

struct TuningQuestion {
  ModelOnCard model;
  FineTuning tuning;
  std::string route;   // of experts, as dryrun's
  std::string python;  // has the packages
};

// Without its `python`. Throws UsageError for a wrong value and for flags that contradict.
TuningQuestion tuning_question_of(const Arguments& arguments);

constexpr int64_t kMostTuningBatch = 4096;
constexpr int64_t kMostTuningLength = 1 << 20;

}  // namespace headroom
