// The numbers of a file of weights, where the model's parameters are whole on the device and where
// they are not.
#pragma once

#include <string>
#include <vector>

#include "train/data/weights.h"
#include "train/offload/offloaded_parameters.h"
#include "train/parallel/shards.h"
#include "train/parallel/tensor_parallel.h"

namespace headroom {

// Who has taken the parameters apart or away; null: nobody.
struct Holders {
  OffloadedParameters* offloaded = nullptr;
  const Shards* shards = nullptr;
  const TensorParallel* tensors = nullptr;
  bool has_all = true;  // not where other stages have the rest
};

// Fills the parameters from the file. Throws UsageError.
void load_parameters(const NamedTensors& parameters, const Holders& holders,
                     const std::string& path);

// The same numbers in FP32 on the host, as the optimizer's parameters are: pieces where replicas
// share them. Throws UsageError.
NamedTensors masters_of_file(const NamedTensors& parameters, const Holders& holders,
                             const std::string& path);

}  // namespace headroom
