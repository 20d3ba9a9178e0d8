// The cards visible to a process: CUDA_VISIBLE_DEVICES as the driver reads it.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace virtual_gpu {

// The UUID of one of the machine's cards, as in cudaGetDeviceProperties().
std::array<char, 16> uuid_of(int card);

// The same as nvidia-smi prints it: "GPU-76697274-7561-6c2d-3030-000000000000".
std::string uuid_text(int card);

// The PCI bus of one of the machine's cards; its domain and its device are 0.
constexpr int pci_bus_of(int card) { return card + 1; }

// The cards in `list`, in its order, of `count`; nullptr = all. A word is an ordinal, with any
// trailing text, or "GPU-" and the beginning of one card's UUID. The first other word ends the
// list; if a card is named twice, the result is empty.
std::vector<int> visible_cards(const char* list, int count);

}  // namespace virtual_gpu
