#include "train/optim/partition.h"

namespace headroom {

int64_t rows_per_block(std::string_view name, const std::vector<int64_t>& sizes, int64_t head_dim) {
  if (sizes.size() < 2) return sizes.empty() ? 1 : sizes.front();
  const auto is = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return is("q_proj") || is("k_proj") ? head_dim : 1;
}

}  // namespace headroom
