// --device virtual:<card>[,bytes=SIZE|unlimited]: a cell on a card that is not there. No torch
// here.
//
// Note [Under the stand-in]
// Rationale: the memory of a step is exact when libtorch's own CUDA code and allocator run, and
//   these run without a card when the CUDA runtime under them is replaced (docs/virtual_gpu.md).
// Approach: the cell, and only the cell, starts with the stand-in preloaded and the card described
//   in its environment. For it the device is cuda:0. What was preloaded before stays preloaded,
//   behind.
// Limits: no values and no times. The card's own memory outside libtorch's allocator (context,
//   libraries) is a figure of the card table, measured or assumed as it says there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cards/cards.h"
#include "train/device/device.h"

namespace headroom {

struct VirtualCard {
  Card card;               // total_bytes as asked for
  int64_t real_bytes = 0;  // what such a card has
  bool unlimited = false;
};

// The card of a device of kind kVirtual. Throws UsageError: an unknown card (near names), one that
// libtorch refuses, a size that does not parse or leaves no memory beside the context.
VirtualCard virtual_card(const Device& device);

// How a command asks for a card, for its error lines.
struct CardFlags {
  std::string card;     // "--card"
  std::string bytes;    // "--bytes"
  std::string example;  // a card that works, as it is typed
};

// The same of its parts: size is "", "80GiB" or "unlimited".
VirtualCard virtual_card(const CardFlags& flags, std::string_view name, std::string_view size);

// Whether this machine has an NVIDIA card, without touching CUDA.
bool has_nvidia_card();

// "auto" where there is no card: memory is answered by a virtual one. Other devices as they are.
Device settled(const Device& device);

// The libraries to preload, the stand-in first: beside this program's folder, or in
// $HEADROOM_VIRTUAL_GPU, by a path that LD_PRELOAD can hold. Throws std::runtime_error when they
// are not there.
std::vector<std::string> stand_in_libraries();

// What a process needs in its environment to run on `count` of this card, as "NAME=value", and as
// "NAME" what it may not have there: for changed_environment().
// LD_PRELOAD keeps what it holds. report_prefix: see virtual_gpu/device/machine.h; "" = no report.
// observer: one more library to preload, "" = none.
std::vector<std::string> stand_in_environment(const VirtualCard& card, int count,
                                              const std::string& report_prefix,
                                              const std::string& observer = "");

// A variable that lists paths, with one more before what it holds already: "PYTHONPATH=path:...".
std::string path_list_variable(const std::string& name, const std::string& path);

}  // namespace headroom
