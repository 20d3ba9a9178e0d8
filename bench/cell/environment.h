// Where and with what a run was made: the environment{} of a Record.
#pragma once

#include <torch/torch.h>

#include <nlohmann/json.hpp>

namespace headroom {

// Device, host, libtorch, build, allocator settings, UTC time.
nlohmann::json environment(torch::Device device);

// The part that decides whether two results may be mixed: build and how it was built, libtorch,
// devices, processor.
nlohmann::json build_identity();

}  // namespace headroom
