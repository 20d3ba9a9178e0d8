// --device virtual:<card>[,bytes=SIZE|unlimited]: a cell on a simulated card. No torch here.
//
// Note [Under the stand-in]
// Rationale: the memory of a step is exact if libtorch's own CUDA code and allocator run, and these
//   run without a card if the CUDA runtime under them is replaced (docs/inside/virtual_gpu.md).
// Approach: only the cell starts with the stand-in preloaded and the card described in its
//   environment. Its device is cuda:0. Libraries preloaded before stay, after the stand-in.
// Limits: no values and no times. The card's own memory outside libtorch's allocator (context,
//   libraries) is a figure of the card table, marked there as measured or assumed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cards/cards.h"
#include "train/settings/device/device.h"

namespace headroom {

struct VirtualCard {
  Card card;               // total_bytes as requested
  int64_t real_bytes = 0;  // the real card's memory
  bool unlimited = false;
};

// The card of a device of kind kVirtual. Throws UsageError: an unknown card (with similar names),
// one that libtorch refuses, an invalid size or one without memory beside the context.
VirtualCard virtual_card(const Device& device);

// A command's flags for a card, for its error lines.
struct CardFlags {
  std::string card;     // "--card"
  std::string bytes;    // "--bytes"
  std::string example;  // valid flags, as typed
};

// The same from its parts: size is "", "80GiB" or "unlimited".
VirtualCard virtual_card(const CardFlags& flags, std::string_view name, std::string_view size);

// True if this machine has an NVIDIA card; does not use CUDA.
bool has_nvidia_card();

// Replaces "auto" by a virtual card, which suffices for memory, if there is no real one. Other
// devices are unchanged.
Device settled(const Device& device);

// The libraries to preload, the stand-in first: from lib/ beside this program's folder, or from
// $HEADROOM_VIRTUAL_GPU, with paths valid in LD_PRELOAD. Throws std::runtime_error if they are
// missing.
std::vector<std::string> stand_in_libraries();

// The environment of a process on `count` of this card, for changed_environment(): "NAME=value" to
// set, "NAME" to remove.
// LD_PRELOAD keeps its content. report_prefix: see virtual_gpu/device/machine.h; "" = no report.
// first, last: libraries to preload before and after the stand-in.
std::vector<std::string> stand_in_environment(const VirtualCard& card, int count,
                                              const std::string& report_prefix,
                                              const std::vector<std::string>& first = {},
                                              const std::vector<std::string>& last = {});

// The environment of one of our own programs on it: also without the real cuBLASLt, which takes
// time to load and computes nothing here (virtual_gpu/CMakeLists.txt).
std::vector<std::string> cell_stand_in_environment(const VirtualCard& card, int count);

// A variable that lists paths, with one prepended: "PYTHONPATH=path:...".
std::string path_list_variable(const std::string& name, const std::string& path);

}  // namespace headroom
