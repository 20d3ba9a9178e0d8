// A model without its weights: a config.json, of a public model or the user's. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

struct ModelShape {
  std::string name;         // "llama-3.1-8b", or the file
  std::string config;       // path of the config.json
  int64_t parameters = 0;   // 0 = unknown
  int64_t most_length = 0;  // positions that the model has; 0 = unknown
};

// A public model's NAME (recipes/models/) or the path of a config.json. Throws UsageError for
// another word (with the nearest name), a file that is no JSON, and a field that is missing.
ModelShape find_shape(const std::string& word);

// The names of the public models, in order.
std::vector<std::string> shape_names();

}  // namespace headroom
