#include "plan/fit/need.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "plan/cost/library_bytes.h"
#include "profiling/theory/disk_states.h"
#include "profiling/theory/host_parameters.h"
#include "profiling/theory/host_update.h"
#include "profiling/theory/offloaded.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/rows.h"
#include "text/words.h"
#include "train/parallel/schedule.h"

namespace headroom {
namespace {

int64_t on_device(const std::vector<Row>& rows, const std::vector<std::string>& groups) {
  int64_t bytes = 0;
  for (const Row& row : rows) {
    if (row.space == MemorySpace::kDevice && is_one_of(row.group, groups)) {
      bytes += row.model_bytes();
    }
  }
  return bytes;
}

// Sums of a whole model's rows over the ranks that share them. What one rank has twice another has
// not: the fullest has at least the mean.
class MeshFloor {
 public:
  MeshFloor(const RunSpec& spec, const std::vector<Row>& rows)
      : spec_(spec), rows_(rows), config_(model_config(spec)) {}

  int64_t states() const {
    return on_device(rows_, {kParameters}) / sharing(3) +
           on_device(rows_, {kMasterWeights, kOptimizerState}) / sharing(1);
  }

  int64_t bytes() const {
    if (!builds_graph(spec_.profile_type)) return states();
    // ZeRO-1, too, updates of a part.
    const int64_t updating = states() + on_device(rows_, {kGradients}) / sharing(1);
    return std::max(updating, end_of_forward());
  }

 private:
  int64_t size(MeshAxis axis) const { return spec_.mesh.size(axis); }

  // Ranks over which something is spread that replicas share from that stage of ZeRO on.
  int64_t sharing(int64_t from_zero) const {
    const int64_t replicas = spec_.zero >= from_zero ? size(MeshAxis::kData) : 1;
    return size(MeshAxis::kPipeline) * size(MeshAxis::kTensor) * replicas;
  }

  int64_t end_of_forward() const {
    const int64_t tp = size(MeshAxis::kTensor);
    const int64_t stages = size(MeshAxis::kPipeline);
    const int64_t block = on_device(rows_, {kBlock}) / tp;
    if (stages == 1) {
      const int64_t rest = on_device(rows_, {kEmbedding, kFinalNorm, kHead, kLoss}) / tp;
      // What is gathered goes, and its cast with it.
      const int64_t casts = spec_.zero == 3 ? 0 : on_device(rows_, {kCastCache}) / tp;
      return states() + block + rest + casts;
    }
    // The first stage's own blocks, of as many micro-batches as it is ahead of the last.
    const int64_t ahead = std::min(stages, spec_.micro_batches);
    const auto share = static_cast<double>(layers_of_stage(config_.layers, stages, 0)) /
                       static_cast<double>(config_.layers);
    const int64_t outside = (config_.vocab_size + config_.head_outputs() + 1) * config_.d_model;
    const auto of_blocks =
        1 - static_cast<double>(outside) / static_cast<double>(parameter_count(config_));
    const double stages_states = static_cast<double>(states() * stages) * of_blocks * share;
    return static_cast<int64_t>(stages_states + static_cast<double>(block * ahead) * share);
  }

  const RunSpec& spec_;
  const std::vector<Row>& rows_;
  const ModelConfig config_;
};

struct FullestRank {
  int64_t rank = 0;
  int64_t bytes = 0;
};

int64_t peak_of(const RunSpec& spec, int64_t rank) {
  return predicted_peak(spec, Head::kLanguage, rank).allocated;
}

// Of the stages that can have the fullest.
std::vector<int64_t> first_ranks_of_stages(const RunSpec& spec) {
  const int64_t stages = spec.mesh.size(MeshAxis::kPipeline);
  const int64_t layers = model_config(spec).layers;
  std::vector<int64_t> ranks = {0};
  const auto add = [&](int64_t stage) {
    ranks.push_back(spec.mesh.neighbour(0, MeshAxis::kPipeline, stage));
  };
  for (int64_t stage = 1; stage + 1 < stages; ++stage) {
    if (layers_of_stage(layers, stages, stage) == layers_of_stage(layers, stages, 0)) continue;
    add(stage);
    break;
  }
  if (stages > 1) add(stages - 1);
  return ranks;
}

FullestRank fullest(const RunSpec& spec) {
  FullestRank fullest;
  for (const int64_t rank : ranks_that_can_be_fullest(spec)) {
    const int64_t bytes = peak_of(spec, rank);
    if (bytes > fullest.bytes) fullest = {rank, bytes};
  }
  return fullest;
}

}  // namespace

int64_t states_bytes(const RunSpec& spec) { return MeshFloor(spec, theory_rows(spec)).states(); }

int64_t floor_bytes(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  if (spec.mesh.ranks() > 1) return MeshFloor(spec, rows).bytes();
  const int64_t always = on_device(rows, {kParameters, kMasterWeights, kOptimizerState}) -
                         parameters_away(rows, spec, /*after_backward=*/true);
  const int64_t gradients = on_device(rows, {kGradients});
  if (!builds_graph(spec.profile_type)) return always;
  const int64_t kept = on_device(rows, {kBlock, kEmbedding, kFinalNorm, kHead, kLoss, kCastCache});
  return always + std::max(gradients, kept);
}

std::vector<int64_t> ranks_that_can_be_fullest(const RunSpec& spec) {
  std::vector<int64_t> ranks = first_ranks_of_stages(spec);
  if (spec.zero == 0) return ranks;
  const std::vector<int64_t> firsts = ranks;
  const int64_t replicas = spec.mesh.size(MeshAxis::kData);
  const int64_t places = std::min(replicas, kPlaces);
  for (int64_t i = 1; i < places; ++i) {
    for (const int64_t first : firsts) {
      const int64_t place = i * (replicas - 1) / (places - 1);
      ranks.push_back(spec.mesh.neighbour(first, MeshAxis::kData, place));
    }
  }
  return ranks;
}

int64_t nccl_bytes_of(const RunSpec& spec) {
  constexpr int64_t kCommunicators = 2;  // of those who measured it: of all, and of tp
  int64_t axes = 0;
  for (const MeshAxis axis : kMeshAxes) axes += spec.mesh.size(axis) > 1 ? 1 : 0;
  return axes * nccl_bytes(spec.mesh.ranks()) / kCommunicators;
}

int64_t predicted_fullest_rank(const RunSpec& spec) { return fullest(spec).rank; }

std::vector<int64_t> fullest_ranks(const RunSpec& spec) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  if (spec.zero == 0 || !has_predicted_peak(plain)) return first_ranks_of_stages(spec);
  std::map<int64_t, FullestRank> of_stages;
  for (const int64_t rank : ranks_that_can_be_fullest(spec)) {
    FullestRank& known = of_stages[spec.mesh.place(rank, MeshAxis::kPipeline)];
    const int64_t bytes = peak_of(plain, rank);
    if (bytes > known.bytes) known = {rank, bytes};
  }
  std::vector<int64_t> ranks;
  for (const auto& [stage, fullest] : of_stages) ranks.push_back(fullest.rank);
  return ranks;
}

int64_t predicted_need(const RunSpec& spec) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  if (!has_predicted_peak(plain)) return floor_bytes(spec);
  return fullest(plain).bytes;
}

bool predicted_to_fit(const RunSpec& spec, int64_t capacity) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  if (!has_predicted_peak(plain)) return floor_bytes(spec) <= capacity;
  if (!knows_allocator_of(spec)) return predicted_need(spec) <= capacity;
  const std::vector<int64_t> ranks = ranks_that_can_be_fullest(spec);
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](int64_t rank) { return rehearsed_to_fit(spec, capacity, rank); });
}

bool knows_allocator_of(const RunSpec& spec) {
  return spec.alloc_conf.empty() || spec.alloc_conf == kExpandableSegments;
}

HostNeed predicted_host_need(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  return {.pinned = host_pinned_bytes(rows), .pageable = host_pageable_bytes(rows, spec)};
}

int64_t predicted_disk_bytes(const RunSpec& spec) { return disk_figures(spec).files; }

}  // namespace headroom
