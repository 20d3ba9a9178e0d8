#include "model/batch_layout.h"

#include <algorithm>

namespace headroom {

int64_t BatchLayout::tokens() const {
  int64_t sum = 0;
  for (const SequenceSpan& span : spans) sum += span.length;
  return sum;
}

bool BatchLayout::even() const {
  return std::all_of(spans.begin(), spans.end(), [&](const SequenceSpan& span) {
    return span.length == spans.front().length && span.first == spans.front().first;
  });
}

bool BatchLayout::decodes() const {
  return cache != nullptr && std::all_of(spans.begin(), spans.end(), [](const SequenceSpan& span) {
           return span.length == 1 && span.first > 0;
         });
}

BatchLayout packed_pass(const std::vector<int64_t>& lengths, torch::Device device) {
  std::vector<SequenceSpan> spans;
  for (const int64_t length : lengths) spans.push_back({.length = length});
  return make_pass(std::move(spans), device);
}

BatchLayout make_pass(std::vector<SequenceSpan> spans, torch::Device device, KvCache* cache) {
  TORCH_CHECK(!spans.empty(), "a pass has no tokens");
  std::vector<int64_t> positions;
  for (const SequenceSpan& span : spans) {
    TORCH_CHECK(span.length > 0, "a span of a pass has no tokens");
    for (int64_t i = 0; i < span.length; ++i) positions.push_back(span.first + i);
  }
  return {.spans = std::move(spans),
          .positions_T = torch::tensor(positions, torch::kInt64).to(device),
          .cache = cache};
}

Tensor Positions::rotate(const Tensor& x_BHSK) const {
  return pass == nullptr ? rotary.rotate(x_BHSK) : headroom::rotate(x_BHSK, cos_TR, sin_TR);
}

}  // namespace headroom
