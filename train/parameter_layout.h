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

// The same numbers in FP32 on the host, as the optimizer's parameters are: pieces where replicas
// share them. Throws UsageError.
NamedTensors masters_of_file(const NamedTensors& parameters, const ParameterLayout& layout,
                             const std::string& path);

// The whole parameters of this rank's stage; `masters`, of the optimizer's parameters, in their
// place where it has some. Every rank has to ask, and gets a copy where several of them have parts.
NamedTensors whole_parameters(const NamedTensors& parameters, const ParameterLayout& layout,
                              const std::vector<torch::Tensor>& masters, torch::Device device);

}  // namespace headroom
