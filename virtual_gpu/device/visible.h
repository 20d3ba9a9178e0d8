// Which cards a process sees: CUDA_VISIBLE_DEVICES as the driver reads it.
#pragma once

#include <array>
#include <vector>

namespace virtual_gpu {

// Of one of the machine's cards, as cudaGetDeviceProperties() gives it.
std::array<char, 16> uuid_of(int card);

// The cards that `list` names, in its order, of `count`; nullptr = all. A word is an ordinal,
// whatever stands behind it, or "GPU-" and the beginning of one card's UUID. The first word that is
// neither ends the list, and with a card named twice there is none at all.
std::vector<int> visible_cards(const char* list, int count);

}  // namespace virtual_gpu
