#include "plan/fit/need.h"

#include <algorithm>
#include <string_view>

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
  if (spec.profile_type == Mode::kForward) return always;
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
  constexpr int64_t kLostToPages = 50;  // a part of so many
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  if (!has_predicted_peak(plain)) return floor_bytes(spec) <= capacity;
  if (spec.alloc_conf.empty()) return rehearsed_to_fit(spec, capacity);
  return predicted_need(spec) <= capacity - capacity / kLostToPages;
}

int64_t predicted_host_bytes(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  return host_pinned_bytes(rows) + host_pageable_bytes(rows, spec);
}

}  // namespace headroom
