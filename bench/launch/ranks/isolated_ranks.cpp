#include "bench/launch/ranks/isolated_ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "bench/launch/ranks/rank_records.h"
#include "bench/launch/ranks/ranks.h"
#include "bench/process/interrupt.h"
#include "train/parallel/data/shard_groups.h"
#include "train/parallel/ranks/launch_variables.h"

namespace headroom {
namespace {

// Runs each rank once.
class LoneRanks {
 public:
  LoneRanks(const RunSpec& spec, const CellOptions& options) : spec_(spec), options_(options) {
    const bool is_one = options_.ranks.ranks.size() == 1;  // a server would start nothing else
    if (!options_.forks && !is_one) options_.forks = forks_of_cells();
  }

  const Record& record(int64_t rank) {
    const auto [place, is_new] = records_.try_emplace(rank);
    if (is_new) place->second = run(rank);
    return place->second;
  }

  // A rank's status and its card's peaks.
  RankPrint print(int64_t rank) {
    const Record& one = record(rank);
    const MemoryBytes peak = one.peak.value_or(MemoryBytes{});
    std::string text = to_string(one.status);
    for (const int64_t bytes : {peak.allocated, peak.reserved, peak.requested}) {
      text += " " + std::to_string(bytes);
    }
    return text;
  }

 private:
  Record run(int64_t rank) {
    RunSpec spec = spec_;
    if (!records_.empty() && records_.begin()->first != rank) spec.snapshot.clear();
    if (interrupted()) return interrupted_record();
    CellOptions own = options_of_launched(options_, rank, spec.mesh.ranks(), kNoPort);
    own.environment.push_back(std::string(kRankAlone) + "=1");
    own.environment.emplace_back("HEADROOM_VIRTUAL_ABSENT=1");
    Record record = run_one(spec, own);
    record.spec = spec_;
    return record;
  }

  Record interrupted_record() const {
    Record record;
    record.spec = spec_;
    record.status = Status::kKilled;
    record.reason = "interrupted";
    return record;
  }

  static constexpr int kNoPort = 1;  // never used

  const RunSpec& spec_;
  CellOptions options_;
  std::map<int64_t, Record> records_;
};

// Every group of the mesh, along every axis; if replicas shard in groups, these groups and those of
// their copies.
std::vector<RankList> groups_of_mesh(const Mesh& mesh, int64_t shard_group) {
  const ShardGroups shards(mesh, shard_group);
  std::vector<RankList> groups;
  const auto add = [&](int64_t first, RankList group) {
    if (group.size() > 1 && group.front() == first) groups.push_back(std::move(group));
  };
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    for (const MeshAxis axis : {MeshAxis::kPipeline, MeshAxis::kTensor}) {
      RankList group;
      for (int64_t place = 0; place < mesh.size(axis); ++place) {
        group.push_back(mesh.neighbour(rank, axis, place));
      }
      add(rank, std::move(group));
    }
    add(rank, shards.sharers(rank));
    add(rank, shards.copies(rank));
  }
  return groups;
}

}  // namespace

Record run_isolated_ranks(const RunSpec& spec, const CellOptions& options) {
  LoneRanks ranks(spec, options);
  std::vector<RankKind> kinds;
  if (options.ranks.kind == RankChoice::Kind::kDistinct) {
    kinds = distinct_ranks(groups_of_mesh(spec.mesh, spec.shard_group), spec.mesh.ranks(),
                           [&](int64_t rank) { return ranks.print(rank); });
  } else {
    kinds.reserve(options.ranks.ranks.size());
    for (const int64_t rank : options.ranks.ranks) kinds.push_back({rank, {rank}});
  }
  std::vector<RankRecord> ends;
  ends.reserve(kinds.size());
  for (const RankKind& kind : kinds) {
    ends.push_back({.rank = kind.rank,
                    .record = ranks.record(kind.rank),
                    .turn = static_cast<int64_t>(ends.size()),
                    .alike = kind.ranks});
  }
  return record_of_all(std::move(ends));
}

}  // namespace headroom
