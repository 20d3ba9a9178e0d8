#include "train/data/weight_parts.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "files/replace_file.h"
#include "train/data/safetensors.h"

namespace headroom {

std::string weight_part_path(const std::string& path, int64_t part, int64_t parts) {
  const std::string kEnding = ".safetensors";
  const bool has_ending = path.size() > kEnding.size() &&
                          path.compare(path.size() - kEnding.size(), kEnding.size(), kEnding) == 0;
  std::array<char, 64> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "-%05lld-of-%05lld",
                static_cast<long long>(part) + 1, static_cast<long long>(parts));
  const std::string stem = has_ending ? path.substr(0, path.size() - kEnding.size()) : path;
  return stem + numbers.data() + kEnding;
}

std::string write_weight_index(const std::string& path, int64_t parts) {
  nlohmann::json names = nlohmann::json::object();
  int64_t bytes = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const std::string file = weight_part_path(path, part, parts);
    const SafetensorsFile tensors(file);
    for (const auto& [name, entry] : tensors.entries()) {
      names[name] = file.substr(file.rfind('/') + 1);  // without '/': the whole path
      bytes += entry.bytes;
    }
  }
  const std::string index = path + ".index.json";
  const nlohmann::json all = {{"metadata", {{"total_size", bytes}}}, {"weight_map", names}};
  const std::string text = all.dump(2) + "\n";
  ReplaceFile file(index);
  file.write(text.data(), text.size());
  file.commit();
  return index;
}

}  // namespace headroom
