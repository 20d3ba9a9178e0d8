// An operation that torch's compiler has compiled: one kernel instead of several of ATen.
//
// Note [Compiled operations]
// Rationale: an update or an encoding in ATen is a dozen operations, and each reads and writes all
//   of memory once more.
// Approach: train/kernels/operations/operations.py describes each operation a second time, for the
//   compiler; tests/train/kernels/compiled_operations_test.cpp compares the bits of both. An
//   operation overwrites its tensors in place. Sizes vary, so one library serves every tensor.
// Limits: tensors of fewer than two rows, that are not contiguous or that begin at no multiple of
//   16 bytes take the operations of ATen.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/kernels/compiled_library.h"
#include "train/settings/spec.h"

namespace headroom {

class CompiledOperation {
 public:
  // Loads what compile_operation.py wrote into the folder.
  CompiledOperation(const std::string& folder, torch::Device device);

  // Runs on tensors of two dimensions, or of one. Returns false, and changes nothing, if the kernel
  // does not take them.
  bool run(const std::vector<torch::Tensor>& tensors, std::initializer_list<double> numbers) const;
  // The same on tensors of any shape that have as many elements each.
  bool run_flat(const std::vector<torch::Tensor>& tensors,
                std::initializer_list<double> numbers) const;

 private:
  CompiledLibrary library_;
};

using OperationPtr = std::shared_ptr<const CompiledOperation>;  // null: ATen's operations

// The run's compiled operation of this name; null if it has none or runs it on another device.
// number_type: of an operation that exists for several ("float32").
OperationPtr compiled_operation(const RunSpec& spec, const std::string& name, torch::Device device,
                                const std::string& number_type = "");

}  // namespace headroom
