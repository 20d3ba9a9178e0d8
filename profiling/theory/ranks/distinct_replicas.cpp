#include "profiling/theory/ranks/distinct_replicas.h"

#include <set>

#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/parallel/shard_shapes.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/parallel/data/shard_groups.h"

namespace headroom {

std::vector<int64_t> distinct_replicas(const RunSpec& spec, int64_t rank) {
  std::vector<int64_t> ranks = {rank};
  if (spec.zero == 0) return ranks;
  Run run(/*workspace_bytes=*/0);
  RehearsedModel model(run, spec, Head::kLanguage, rank);
  const ShardGroups groups(spec.mesh, spec.shard_group);
  std::set<ShardShapes::Cuts> known = {model.shards()->cuts(groups.part(rank))};
  for (const int64_t other : groups.sharers(rank)) {
    if (known.insert(model.shards()->cuts(groups.part(other))).second) ranks.push_back(other);
  }
  return ranks;
}

}  // namespace headroom
