// The use of memory at the peak of a dry run, as a JSON document and as tables. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/dryrun/dryrun.h"

namespace headroom {

// The breakdown of every process in `document` (dryrun_document): its devices, their uses of memory
// at the peak, the steps, and the instants at which memory ran out. docs/programs/dryrun.md names
// the fields.
nlohmann::ordered_json breakdown_document(const nlohmann::ordered_json& document,
                                          const DryRunOutcome& outcome);

std::string breakdown_text(const nlohmann::ordered_json& breakdown, size_t width = 0);

// The uses of each device alone: at the peak, and where memory ran out.
std::string breakdown_summary(const nlohmann::ordered_json& breakdown, size_t width = 0);

// "GPT.layers.3.mlp" as "GPT.layers.*.mlp", "GPT#2" as "GPT#*".
std::string folded(const std::string& path);

}  // namespace headroom
