// A library of AOTInductor: a function from tensors to tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"

namespace torch::inductor {
class AOTIModelContainerRunner;
}

namespace headroom {

// True if a tensor begins as kernels expect, at a multiple of 16 bytes.
bool is_aligned(const torch::Tensor& tensor);

class CompiledLibrary {
 public:
  CompiledLibrary(const std::string& file, torch::Device device);
  ~CompiledLibrary();
  CompiledLibrary(const CompiledLibrary&) = delete;
  CompiledLibrary& operator=(const CompiledLibrary&) = delete;

  // Frees each input after its last use. Throws c10::OutOfMemoryError if the card's memory is full,
  // c10::Error if the function fails otherwise.
  std::vector<torch::Tensor> run(std::vector<torch::Tensor>&& inputs) const;

 private:
  torch::Device device_;
  int64_t out_of_memories_;  // of the device before any run
  std::unique_ptr<torch::inductor::AOTIModelContainerRunner> runner_;
};

}  // namespace headroom
