// Placement of a model's parameters: whole on the device, or sharded and moved by techniques. Loads
// them from weight files and puts them together again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/weights.h"
#include "train/offload/blocks/offloaded_parameters.h"
#include "train/parallel/data/fully_sharded.h"
#include "train/parallel/tensor/tensor_parallel.h"
#include "train/settings/spec.h"

namespace headroom {

// Null: the technique is not in use.
struct ParameterLayout {
  std::shared_ptr<TensorParallel> tensors;         // TP: this rank's part of each matrix
  std::shared_ptr<FullySharded> fully_sharded;     // ZeRO: that part, sharded over replicas
  std::shared_ptr<OffloadedParameters> offloaded;  // blocks on the host or on a disk
  // Under pipeline parallelism: the last block of each piece of the model on this stage.
  std::vector<int64_t> last_blocks = {};

  bool has_all() const { return last_blocks.empty(); }
};

// Fills the parameters from the file. Throws UsageError.
void load_parameters(const NamedTensors& parameters, const ParameterLayout& layout,
                     const std::string& path);

// The weight file's FP32 numbers, on the host, in the pieces that the optimizer updates. Empty
// unless BF16 weights with FP32 masters come from a file; otherwise master weights start from the
// weights. Throws UsageError.
NamedTensors first_masters(const RunSpec& spec, const NamedTensors& parameters,
                           const ParameterLayout& layout);

// For each parameter, true if this rank counts it in sums over all ranks.
std::vector<bool> counted_here(const ParameterLayout& layout,
                               const std::vector<std::string>& names);

// The whole parameters of this rank's stage, or their `masters` if the optimizer has some. Every
// rank must call this; where several have parts, each gets a copy.
NamedTensors whole_parameters(const NamedTensors& parameters, const ParameterLayout& layout,
                              const std::vector<torch::Tensor>& masters, torch::Device device);

}  // namespace headroom
