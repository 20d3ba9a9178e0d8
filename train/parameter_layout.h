// Where the numbers of a model's parameters lie: whole on the device, or cut and moved away by
// techniques. Reads them from files of weights and puts them together again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/weights.h"
#include "train/offload/offloaded_parameters.h"
#include "train/parallel/data/fully_sharded.h"
#include "train/parallel/tensor/tensor_parallel.h"
#include "train/spec.h"

namespace headroom {

// Null: the technique is not in use.
struct ParameterLayout {
  std::shared_ptr<TensorParallel> tensors;         // this rank has a part of each matrix
  std::shared_ptr<FullySharded> fully_sharded;     // and shares that with replicas (ZeRO)
  std::shared_ptr<OffloadedParameters> offloaded;  // blocks are on the host or on a disk
  // Where other stages have the rest of the model: the last block of each piece that this one has.
  std::vector<int64_t> last_blocks = {};

  bool has_all() const { return last_blocks.empty(); }
};

// Fills the parameters from the file. Throws UsageError.
void load_parameters(const NamedTensors& parameters, const ParameterLayout& layout,
                     const std::string& path);

// The FP32 numbers of the file of weights, on the host, in the pieces that the optimizer updates.
// Empty unless BF16 weights are rounded from a file: then master weights begin as the weights.
// Throws UsageError.
NamedTensors first_masters(const RunSpec& spec, const NamedTensors& parameters,
                           const ParameterLayout& layout);

// For each parameter, whether this rank counts it in sums over all ranks.
std::vector<bool> counted_here(const ParameterLayout& layout,
                               const std::vector<std::string>& names);

// The whole parameters of this rank's stage; `masters`, of the optimizer's parameters, in their
// place where it has some. Every rank has to ask, and gets a copy where several of them have parts.
NamedTensors whole_parameters(const NamedTensors& parameters, const ParameterLayout& layout,
                              const std::vector<torch::Tensor>& masters, torch::Device device);

}  // namespace headroom
