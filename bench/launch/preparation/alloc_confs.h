// Settings of libtorch's allocator that may reserve less than its default. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

// The settings tried in addition to the requested one.
inline const std::vector<std::string>& tried_alloc_confs() {
  static const std::vector<std::string> kConfs = {
      "expandable_segments:True", "max_split_size_mb:128", "garbage_collection_threshold:0.8",
      "roundup_power2_divisions:4"};
  return kConfs;
}

}  // namespace headroom
