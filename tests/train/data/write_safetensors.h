// Writes a safetensors file of tensors in memory. No torch here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/data/safetensors.h"

namespace headroom {

inline void write_safetensors(
    const std::string& path, const std::vector<std::pair<std::string, SafetensorsEntry>>& entries) {
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const auto& [name, entry] : entries) tensors.push_back({name, entry.dtype, entry.shape});
  SafetensorsWriter file(path, tensors);
  for (const auto& named : entries) file.append(named.second.data, named.second.bytes);
  file.commit();
}

}  // namespace headroom
