#include "plan/fit/questions/need.h"

#include <algorithm>
#include <string_view>

#include "model/parameter_table.h"
#include "plan/cost/fullest_ranks.h"
#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/host/host_update.h"
#include "profiling/theory/host/offloaded.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/ranks/rank_host.h"
#include "profiling/theory/rows.h"
#include "text/words.h"
#include "train/generate/rules.h"
#include "train/parallel/pipeline/schedule.h"

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

// Sums of a whole model's rows, divided by the ranks that share them. The fullest rank has at least
// the mean.
class MeshFloor {
 public:
  MeshFloor(const RunSpec& spec, const std::vector<Row>& rows)
      : spec_(spec), rows_(rows), config_(model_config(spec)) {}

  int64_t states() const {
    const int64_t away = parameters_away(rows_, spec_, /*after_backward=*/true);
    return (on_device(rows_, {kParameters}) - away) / sharing(3) +
           on_device(rows_, {kMasterWeights, kOptimizerState}) / sharing(1);
  }

  int64_t bytes() const {
    if (!builds_graph(spec_.profile_type)) return states();
    // ZeRO-1 also updates only a shard.
    const int64_t updating = states() + on_device(rows_, {kGradients}) / sharing(1);
    return std::max(updating, end_of_forward());
  }

 private:
  int64_t size(MeshAxis axis) const { return spec_.mesh.size(axis); }

  // Number of ranks that share something which ZeRO shards from stage `from_zero` on.
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
      // Gathered weights are freed, and their casts with them.
      const int64_t casts = spec_.zero == 3 ? 0 : on_device(rows_, {kCastCache}) / tp;
      return states() + block + rest + casts;
    }
    // The first stage keeps its blocks for as many micro-batches as it is ahead of the last stage;
    // with offload at most the last one's are on the device.
    const int64_t ahead = spec_.activations.offloaded() ? 1 : std::min(stages, spec_.micro_batches);
    // With parameter offload only the states of table and head remain, not the blocks'.
    const int64_t of_stages = spec_.param_offload.any() ? 0 : states() * stages;
    const auto share = static_cast<double>(layers_of_stage(config_.layers, stages, 0)) /
                       static_cast<double>(config_.layers);
    const int64_t all = parameter_count(config_);
    const int64_t outside = all - parameter_count(config_, ModelSection::kBlock);
    const auto of_blocks = 1 - static_cast<double>(outside) / static_cast<double>(all);
    const double stages_states = static_cast<double>(of_stages) * of_blocks * share;
    return static_cast<int64_t>(stages_states + static_cast<double>(block * ahead) * share);
  }

  const RunSpec& spec_;
  const std::vector<Row>& rows_;
  const ModelConfig config_;
};

bool keeps_on_host(const RunSpec& spec) {
  return spec.optimizer_offload.any() || spec.param_offload.any() || spec.activations.offloaded();
}

// The rank that keeps most on the host.
HostNeed host_need_of_ranks(const RunSpec& spec) {
  HostNeed most;
  if (!keeps_on_host(spec)) return most;
  for (const int64_t rank : ranks_that_can_be_fullest(spec)) {
    const RankHost host = rehearsed_host(spec, rank);
    const HostNeed need{.pinned = host.pinned, .pageable = host.pageable};
    if (need.bytes() > most.bytes()) most = need;
  }
  return most;
}

}  // namespace

int64_t states_bytes(const RunSpec& spec) { return MeshFloor(spec, theory_rows(spec)).states(); }

int64_t floor_bytes(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  if (spec.mesh.ranks() > 1) return MeshFloor(spec, rows).bytes();
  const int64_t always = on_device(rows, {kParameters, kMasterWeights, kOptimizerState}) -
                         parameters_away(rows, spec, /*after_backward=*/true);
  const int64_t gradients = on_device(rows, {kGradients});
  if (!builds_graph(spec.profile_type)) return always + on_device(rows, {kKvCacheRows, kInputs});
  const int64_t kept = on_device(rows, {kBlock, kEmbedding, kFinalNorm, kHead, kLoss, kCastCache});
  return always + std::max(gradients, kept);
}

bool has_predicted_need(const RunSpec& spec) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  return has_predicted_peak(plain);
}

int64_t predicted_need(const RunSpec& spec) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  return predicted_fullest(plain).bytes;
}

int64_t predicted_roughly(const RunSpec& spec) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  return predicted_fullest(plain, first_ranks_of_stages(plain)).bytes;
}

bool predicted_to_fit(const RunSpec& spec, int64_t capacity) {
  if (!knows_allocator_of(spec)) return predicted_need(spec) <= capacity;
  const std::vector<int64_t> ranks = ranks_that_can_be_fullest(spec);
  return std::all_of(ranks.begin(), ranks.end(), [&](int64_t rank) {
    return rehearsed_to_fit(spec, capacity - nccl_bytes_of(spec, rank), rank);
  });
}

bool knows_allocator_of(const RunSpec& spec) {
  return spec.alloc_conf.empty() || spec.alloc_conf == kExpandableSegments;
}

HostNeed predicted_host_need(const RunSpec& spec) {
  if (spec.mesh.ranks() > 1) return host_need_of_ranks(spec);
  const std::vector<Row> rows = theory_rows(spec);
  return {.pinned = host_pinned_bytes(rows), .pageable = host_pageable_bytes(rows, spec)};
}

int64_t least_host_bytes(const RunSpec& spec) {
  constexpr int64_t kToken = 8;
  const bool generates = spec.profile_type == Mode::kGenerate;
  return kToken * spec.batch_size * (generates ? prompt_tokens(spec) : spec.context_length);
}

int64_t predicted_disk_bytes(const RunSpec& spec) { return disk_figures(spec).files; }

}  // namespace headroom
