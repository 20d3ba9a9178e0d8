// The flags of a model's shape for planning commands: a name, or dimensions. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/flags.h"
#include "model/config.h"

namespace headroom {

// --model-size and the free dimensions. `what`: "the actor's shape"; `usual`: the default size.
std::vector<Flag> model_flags(const std::string& what, const std::string& usual,
                              const std::string& group);

// The named size, changed by the given dimensions. Throws UsageError.
ModelConfig shape_from(const Arguments& arguments, const std::string& usual);

}  // namespace headroom
