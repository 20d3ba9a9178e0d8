#include "plan/fit/need.h"

#include <algorithm>
#include <string_view>

#include "profiling/theory/disk_states.h"
#include "profiling/theory/host_parameters.h"
#include "profiling/theory/host_update.h"
#include "profiling/theory/offloaded.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/rows.h"
#include "text/words.h"

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

}  // namespace

int64_t floor_bytes(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  const int64_t always = on_device(rows, {kParameters, kMasterWeights, kOptimizerState}) -
                         parameters_away(rows, spec, /*after_backward=*/true);
  const int64_t gradients = on_device(rows, {kGradients});
  if (!builds_graph(spec.profile_type)) return always;
  const int64_t kept = on_device(rows, {kBlock, kEmbedding, kFinalNorm, kHead, kLoss, kCastCache});
  return always + std::max(gradients, kept);
}

int64_t predicted_need(const RunSpec& spec) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  if (!has_predicted_peak(plain)) return floor_bytes(spec);
  return predicted_peak(plain).allocated;
}

bool predicted_to_fit(const RunSpec& spec, int64_t capacity) {
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  if (!has_predicted_peak(plain)) return floor_bytes(spec) <= capacity;
  return knows_allocator_of(spec) ? rehearsed_to_fit(spec, capacity)
                                  : predicted_need(spec) <= capacity;
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
