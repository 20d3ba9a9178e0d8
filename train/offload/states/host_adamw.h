// AdamW on the host's processor, with states in host memory. No torch here.
//
// The update is train/optim/adamw.h's:
//   p -= lr * decay * p
//   m  = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
//   p -= lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps)
#pragma once

#include <cstdint>

#include "train/offload/states/host_number.h"

namespace headroom {

// `elements` numbers of one parameter.
struct HostAdamwPart {
  float* master = nullptr;  // p, updated
  float* m = nullptr;
  float* v = nullptr;
  const void* gradient = nullptr;
  void* weight = nullptr;  // p rounded to the nearest, ties to even; may be `gradient` itself
  HostNumber type = HostNumber::kFp32;  // of gradient and weight
  int64_t elements = 0;
};

struct HostAdamwOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  double gradient_scale = 1;  // g is the gradient times this: mean, loss scale, clipping
};

// step: t, from 1 on. Step 1 treats m and v as zeros and only writes them, so untouched memory need
// not be cleared.
void host_adamw(const HostAdamwPart& part, const HostAdamwOptions& options, int64_t step);

// In FP64, with the same result for every number of threads.
double sum_of_squares(const void* numbers, HostNumber type, int64_t elements);

}  // namespace headroom
