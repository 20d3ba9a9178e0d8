#include "plan/cost/layout.h"

#include <algorithm>
#include <vector>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {

std::string to_string(const Layout& layout) {
  std::string text = "tp " + std::to_string(layout.tp) + ", pp " + std::to_string(layout.pp) +
                     ", dp " + std::to_string(layout.dp);
  if (layout.zero > 0) text += ", ZeRO-" + std::to_string(layout.zero);
  if (layout.sequence_parallel && layout.tp > 1) text += ", sequence parallel";
  return text;
}

bool tp_divides(const ModelConfig& config, int64_t tp) {
  return config.kv_heads % tp == 0 && config.d_ff % tp == 0;
}

void check_tensor_parallel(int64_t tp, const ModelConfig& config) {
  if (tp <= kGpusPerNode && tp_divides(config, tp)) return;
  std::vector<std::string> widths;
  for (int64_t width = 1; width <= kGpusPerNode; ++width) {
    if (tp_divides(config, width)) widths.push_back(std::to_string(width));
  }
  const std::string problem =
      tp > kGpusPerNode
          ? "is wider than a node of " + std::to_string(kGpusPerNode) + " GPUs"
          : "does not divide the " + std::to_string(config.kv_heads) +
                " key/value heads and d_ff " + std::to_string(config.d_ff) + " of " + config.name;
  throw UsageError("--tp", std::to_string(tp), problem + "; allowed: " + join(widths),
                   "--tp " + widths.back());
}

int64_t shard(int64_t total, int64_t count, int64_t index) {
  const int64_t piece = (total + count - 1) / count;
  return std::clamp<int64_t>(total - index * piece, 0, piece);
}

int64_t of_replica(const Layout& layout, int64_t elements, int64_t from_zero_stage) {
  return layout.zero >= from_zero_stage ? shard(elements, layout.dp) : elements;
}

int64_t micro_batches_in_flight(int64_t micro_batches, int64_t pp, int64_t stage) {
  return std::min(micro_batches, pp - stage);
}

}  // namespace headroom
