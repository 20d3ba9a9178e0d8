// A public model's config.json as the shape of our own step. No torch here.
#pragma once

#include <string>

#include "model/config.h"

namespace headroom {

// The dense decoder of a NAME or a config.json (find_shape()), as model/config.h describes it.
// Throws UsageError that names the field which our step does not compute: biases of all
// projections, sliding windows, experts, other norms and feed-forwards.
ModelConfig own_shape(const std::string& word);

}  // namespace headroom
