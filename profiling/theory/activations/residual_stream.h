// Part d of the assignment: the size of one tensor of the residual stream, derived. No torch here.
#pragma once

#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

struct ResidualStream {
  std::vector<int64_t> sizes;  // B, S, D
  int64_t elements = 0;
  int64_t each = 4;  // bytes of a number: FP32 in every precision, BF16 with BF16 weights
  int64_t bytes = 0;
  double megabytes() const { return static_cast<double>(bytes) / 1e6; }
  double mebibytes() const { return static_cast<double>(bytes) / (1024 * 1024); }
};
ResidualStream residual_stream(const RunSpec& spec);

// One or two sentences that a write-up may quote.
std::string derivation(const ResidualStream& stream);

}  // namespace headroom
