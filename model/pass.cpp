#include "model/pass.h"

#include <algorithm>

namespace headroom {

int64_t Pass::tokens() const {
  int64_t sum = 0;
  for (const Stretch& stretch : stretches) sum += stretch.length;
  return sum;
}

bool Pass::even() const {
  return std::all_of(stretches.begin(), stretches.end(), [&](const Stretch& stretch) {
    return stretch.length == stretches.front().length && stretch.first == stretches.front().first;
  });
}

bool Pass::decodes() const {
  return cache != nullptr &&
         std::all_of(stretches.begin(), stretches.end(), [](const Stretch& stretch) {
           return stretch.length == 1 && stretch.first > 0;
         });
}

Pass packed_pass(const std::vector<int64_t>& lengths, torch::Device device) {
  std::vector<Stretch> stretches;
  for (const int64_t length : lengths) stretches.push_back({.length = length});
  return make_pass(std::move(stretches), device);
}

Pass make_pass(std::vector<Stretch> stretches, torch::Device device, KvCache* cache) {
  TORCH_CHECK(!stretches.empty(), "a pass has no tokens");
  std::vector<int64_t> positions;
  for (const Stretch& stretch : stretches) {
    TORCH_CHECK(stretch.length > 0, "a stretch of a pass has no tokens");
    for (int64_t i = 0; i < stretch.length; ++i) positions.push_back(stretch.first + i);
  }
  return {.stretches = std::move(stretches),
          .positions_T = torch::tensor(positions, torch::kInt64).to(device),
          .cache = cache};
}

Tensor Positions::rotate(const Tensor& x_BHSK) const {
  return pass == nullptr ? rotary.rotate(x_BHSK) : headroom::rotate(x_BHSK, cos_TR, sin_TR);
}

}  // namespace headroom
