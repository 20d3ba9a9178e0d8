// Where and with what a run was made: the environment{} of a Record.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "model/torch.h"

namespace headroom {

// Device, host, libtorch, build, allocator settings, UTC time.
nlohmann::json environment(torch::Device device);

// "00000000:3B:00.0", by which the driver's library knows a card. "" = the CPU, a virtual card.
std::string pci_bus_id(torch::Device device);

// The part that decides whether two results may be mixed: build and how it was built, libtorch,
// devices, processor.
nlohmann::json build_identity();
// The same on a machine without a card: CUDA is not asked.
nlohmann::json program_identity();

// The settings that libtorch's allocators know, sorted: what an --alloc-conf may name. Throws
// libtorch's own exception where it does not take what the environment holds.
nlohmann::json alloc_conf_keys();

}  // namespace headroom
