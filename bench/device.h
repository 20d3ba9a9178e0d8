// --device words to a torch device.
#pragma once

#include <torch/torch.h>

#include <stdexcept>
#include <string>

namespace headroom {

// The device asked for is not on this machine. what() is one line that says what to use instead.
class UnsupportedDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "cpu", "cuda", "cuda:1"; "auto" is the first CUDA device when there is one, else the CPU.
torch::Device resolve_device(const std::string& name);

}  // namespace headroom
