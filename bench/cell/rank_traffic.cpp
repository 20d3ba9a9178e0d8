#include "bench/cell/rank_traffic.h"

#include "bench/cell/nccl_bytes.h"

namespace headroom {

std::map<std::string, int64_t> RankTraffic::so_far() const {
  std::map<std::string, int64_t> bytes;
  if (grid_ == nullptr) return bytes;
  for (const auto& [name, group] : grid_->groups()) {
    for (const auto& word : words_of(Collective{})) {
      const int64_t moved = group->moved(word.value).bytes;
      if (moved > 0) bytes[name + " " + word.word] += moved;
    }
  }
  return bytes;
}

void RankTraffic::fill(Record& record, int64_t steps, torch::Device device) const {
  if (grid_ == nullptr || steps == 0) return;
  RankFigures own{.rank = grid_->rank(), .nccl_bytes = nccl_bytes_of(device.index())};
  for (const auto& [kind, bytes] : so_far()) {
    const auto found = before_.find(kind);
    const int64_t moved = bytes - (found == before_.end() ? 0 : found->second);
    if (moved > 0) own.moved[kind] = moved / steps;
  }
  record.ranks = {std::move(own)};
}

}  // namespace headroom
