// Weights in several safetensors files with an index, as on model hubs: FILE.safetensors is
// FILE-00001-of-00004.safetensors and so on, and FILE.safetensors.index.json maps tensors to files
// ({"metadata": {"total_size": bytes}, "weight_map": {name: file}}).
// No torch here.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

// part: from 0.
std::string weight_part_path(const std::string& path, int64_t part, int64_t parts);

// Call when all parts exist. Returns the index's path. Throws WriteError, one line, and UsageError
// if a part cannot be read.
std::string write_weight_index(const std::string& path, int64_t parts);

}  // namespace headroom
