// The techniques that `headroom fit` may use, as settings of a run. No torch here.
//
// To add one: a value in the order of costs (plan/search/cost_order.h) and a row of
// technique_list().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/search/cost_order.h"
#include "train/settings/spec.h"

namespace headroom {

// A field of RunSpec and its value, as text.
struct Setting {
  std::string field;  // its JSON key
  std::string value;
};

// One level of a technique, "full" of checkpointing, and the settings it makes.
struct TechniqueLevel {
  std::string name;  // "checkpoint full"
  std::vector<Setting> settings;
};

// Levels, the cheapest first; level 0 leaves the run unchanged.
struct RunTechnique {
  Technique technique = Technique::kAllocator;
  std::vector<TechniqueLevel> levels;  // from 1 on
};

// All techniques for a run of this batch. disk: a directory on a disk for offloaded memory in
// files; "" = none.
std::vector<RunTechnique> technique_list(const RunSpec& base, const std::string& disk = "");

// In the order's sequence, the dearest first.
std::vector<RunTechnique> dearest_first(const std::vector<RunTechnique>& techniques,
                                        const CostOrder& order);

// Adds the level's settings to the values of fields. If another technique has set one of them, the
// field gets the combined value: offloaded activations in 8 bits. False if one run cannot have
// both.
bool add_settings(const TechniqueLevel& level, std::map<std::string, std::string>& values);

// True if the technique sets one of the fields.
bool sets_any(const RunTechnique& technique, const std::vector<std::string>& fields);

}  // namespace headroom
