#include "bench/cell/rank_traffic.h"

#include "profiling/moved.h"

namespace headroom {

std::map<std::string, RankGroup::Moved> RankTraffic::so_far() const {
  std::map<std::string, RankGroup::Moved> all;
  for (const MeshAxis axis : kMeshAxes) {
    const RankGroup* group = grid_ == nullptr ? nullptr : grid_->group(axis).get();
    if (group == nullptr) continue;
    for (const auto& word : words_of(Collective{})) {
      const RankGroup::Moved& moved = group->moved(word.value);
      if (moved.calls > 0) all[to_string(axis) + " " + word.word] = moved;
    }
  }
  return all;
}

void RankTraffic::fill(Record& record, int64_t steps) const {
  if (grid_ == nullptr || steps == 0) return;
  RankFigures own{.rank = grid_->rank()};
  for (const auto& [kind, after] : so_far()) {
    const auto found = before_.find(kind);
    const RankGroup::Moved before = found == before_.end() ? RankGroup::Moved{} : found->second;
    if (after.calls == before.calls) continue;
    own.moved[kind] = (after.bytes - before.bytes) / steps;
    own.moved[calls_of(kind)] = (after.calls - before.calls) / steps;
  }
  record.ranks = {std::move(own)};
}

}  // namespace headroom
