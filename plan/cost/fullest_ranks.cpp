#include "plan/cost/fullest_ranks.h"

#include <algorithm>
#include <map>

#include "plan/cost/library_bytes.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/ranks/distinct_replicas.h"
#include "train/parallel/pipeline/schedule.h"

namespace headroom {
namespace {

FullestRank rehearsed(const RunSpec& spec, int64_t rank) {
  const int64_t allocated = predicted_peak(spec, Head::kLanguage, rank).allocated;
  return {.rank = rank, .allocated = allocated, .bytes = allocated + nccl_bytes_of(spec, rank)};
}

// The first, the last, and each stage between with more layers than every earlier one between.
std::vector<int64_t> stages_that_can_be_fullest(const RunSpec& spec) {
  const int64_t stages = spec.mesh.size(MeshAxis::kPipeline);
  const int64_t layers = model_config(spec).layers;
  std::vector<int64_t> all = {0};
  int64_t most = 0;
  for (int64_t stage = 1; stage + 1 < stages; ++stage) {
    const int64_t own = layers_of_stage(layers, stages, stage);
    if (own <= most) continue;
    all.push_back(stage);
    most = own;
  }
  if (stages > 1) all.push_back(stages - 1);
  return all;
}

// Number of stages that this one sends to or receives from.
int64_t neighbours(const RunSpec& spec, int64_t stage) {
  const int64_t stages = spec.mesh.size(MeshAxis::kPipeline);
  const bool is_end = stage == 0 || stage + 1 == stages;
  const bool goes_around = spec.schedule.kind == ScheduleKind::kInterleaved && stages > 2;
  return is_end && !goes_around ? 1 : 2;
}

}  // namespace

std::vector<int64_t> first_ranks_of_stages(const RunSpec& spec) {
  std::vector<int64_t> ranks;
  for (const int64_t stage : stages_that_can_be_fullest(spec)) {
    ranks.push_back(spec.mesh.neighbour(0, MeshAxis::kPipeline, stage));
  }
  return ranks;
}

std::vector<int64_t> ranks_that_can_be_fullest(const RunSpec& spec) {
  std::vector<int64_t> ranks = first_ranks_of_stages(spec);
  const std::vector<int64_t> firsts = ranks;
  for (const int64_t first : firsts) {
    const std::vector<int64_t> kinds = distinct_replicas(spec, first);
    ranks.insert(ranks.end(), kinds.begin() + 1, kinds.end());
  }
  return ranks;
}

int64_t nccl_bytes_of(const RunSpec& spec, int64_t rank) {
  constexpr int64_t kCommunicators = 2;  // the measured runs had two: all ranks, and tp
  int64_t own = 0;
  for (const MeshAxis axis : kMeshAxes) {
    if (spec.mesh.size(axis) == 1) continue;
    own += axis == MeshAxis::kPipeline ? neighbours(spec, spec.mesh.place(rank, axis)) : 1;
  }
  return own * nccl_bytes(spec.mesh.ranks()) / kCommunicators;
}

FullestRank predicted_fullest(const RunSpec& spec) {
  return predicted_fullest(spec, ranks_that_can_be_fullest(spec));
}

FullestRank predicted_fullest(const RunSpec& spec, const std::vector<int64_t>& of_these) {
  FullestRank fullest;
  for (const int64_t rank : of_these) {
    const FullestRank one = rehearsed(spec, rank);
    if (one.bytes > fullest.bytes) fullest = one;
  }
  return fullest;
}

std::vector<int64_t> fullest_ranks(const RunSpec& spec) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  if (spec.zero == 0 || !has_predicted_peak(plain)) return first_ranks_of_stages(spec);
  std::map<int64_t, FullestRank> of_stages;
  for (const int64_t rank : ranks_that_can_be_fullest(spec)) {
    FullestRank& known = of_stages[spec.mesh.place(rank, MeshAxis::kPipeline)];
    const FullestRank one = rehearsed(plain, rank);
    if (one.bytes > known.bytes) known = one;
  }
  std::vector<int64_t> ranks;
  ranks.reserve(of_stages.size());
  for (const auto& [stage, fullest] : of_stages) ranks.push_back(fullest.rank);
  return ranks;
}

}  // namespace headroom
