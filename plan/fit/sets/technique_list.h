// The techniques that `headroom fit` may use, as settings of a run. No torch here.
//
// A new one is a value in the order of costs (plan/search/cost_order.h) and a row of
// technique_list().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/search/cost_order.h"
#include "train/spec.h"

namespace headroom {

// A field of RunSpec and its value, as typed.
struct Setting {
  std::string field;  // its JSON key
  std::string value;
};

// One step of a technique: "full" of checkpointing. What it sets, whatever else is set.
struct TechniqueLevel {
  std::string name;  // "checkpoint full"
  std::vector<Setting> settings;
};

// Its levels, the cheapest first; level 0 is a run as it is.
struct RunTechnique {
  Technique technique = Technique::kAllocator;
  std::vector<TechniqueLevel> levels;  // from 1 on
};

// All of them for a run of this batch. disk: a directory on one, where what is offloaded may lie in
// files; "" = there is none.
std::vector<RunTechnique> technique_list(const RunSpec& base, const std::string& disk = "");

// Those of the order, the dearest first.
std::vector<RunTechnique> dearest_first(const std::vector<RunTechnique>& techniques,
                                        const CostOrder& order);

// Sets what the level sets among the values of fields. Where another technique has set one of them
// it becomes the value that is both: offloaded activations in 8 bits. False where one run cannot
// have both.
bool add_settings(const TechniqueLevel& level, std::map<std::string, std::string>& values);

// Whether the technique sets one of the fields.
bool sets_any(const RunTechnique& technique, const std::vector<std::string>& fields);

}  // namespace headroom
