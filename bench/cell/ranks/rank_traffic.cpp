#include "bench/cell/ranks/rank_traffic.h"

#include "bench/cell/ranks/nccl_bytes.h"

namespace headroom {

std::map<std::string, RankGroup::Moved> RankTraffic::so_far() const {
  std::map<std::string, RankGroup::Moved> all;
  if (device_mesh_ == nullptr) return all;
  for (const auto& [name, group] : device_mesh_->groups()) {
    for (const auto& word : words_of(Collective{})) {
      const RankGroup::Moved& moved = group->moved(word.value);
      if (moved.calls == 0) continue;
      RankGroup::Moved& sum = all[name + " " + word.word];
      sum.calls += moved.calls;
      sum.bytes += moved.bytes;
    }
  }
  return all;
}

void RankTraffic::fill(Record& record, int64_t steps, torch::Device device) const {
  if (device_mesh_ == nullptr || steps == 0) return;
  RankFigures& own = record.ranks.edit().front();
  own.nccl_bytes = nccl_bytes_of(device.index());
  for (const auto& [kind, after] : so_far()) {
    const auto found = before_.find(kind);
    const RankGroup::Moved before = found == before_.end() ? RankGroup::Moved{} : found->second;
    if (after.calls == before.calls) continue;
    own.moved[kind] = (after.bytes - before.bytes) / steps;
    own.moved_calls[kind] = (after.calls - before.calls) / steps;
  }
}

}  // namespace headroom
