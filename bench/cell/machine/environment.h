// The environment{} of a Record: the machine and software of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "model/torch.h"

namespace headroom {

// Device, host, libtorch, build, allocator settings, UTC time.
nlohmann::json environment(torch::Device device);

// "00000000:3B:00.0": the card's name in the driver's library. "" = the CPU, a virtual card.
std::string pci_bus_id(torch::Device device);

// The part that determines whether two results may be mixed: build and its settings, libtorch,
// devices, processor.
nlohmann::json build_identity();
// The same on a machine without a card: CUDA is not asked.
nlohmann::json program_identity();

// The settings of libtorch's allocators, sorted: the valid keys of --alloc-conf. Throws libtorch's
// own exception if it refuses the environment's settings.
nlohmann::json alloc_conf_keys();

}  // namespace headroom
