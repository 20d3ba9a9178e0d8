// Autograd nodes that only change a parameter's shape or type. No torch here.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom {

inline bool changes_shape_or_type_only(std::string_view node) {
  constexpr std::array<std::string_view, 10> kNames = {
      "ToCopy",    "View",    "TBackward", "Transpose",    "Permute",
      "Unsqueeze", "Squeeze", "Expand",    "ReshapeAlias", "Alias"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return node.find(name) != std::string_view::npos;
  });
}

}  // namespace headroom
