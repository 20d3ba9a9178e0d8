// The cards of the host as NVML shows them: all of them, whatever CUDA_VISIBLE_DEVICES says. They
// are read from the environment, so that a program that only asks NVML has no use of CUDA in its
// report.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "virtual_gpu/device/card.h"
#include "virtual_gpu/nvml/types.h"

namespace virtual_gpu::nvml {

// Cards of the host; 0 if the environment describes none.
int card_count();
// The description that all of them share. Call it only if there are cards.
const Card& card();

// Null for an ordinal that no card has.
DeviceHandle handle_of(int ordinal);
// kSuccess, kUninitialized before nvmlInit or after nvmlShutdown, or kInvalidArgument.
Result check(DeviceHandle device);

// True between nvmlInit and its nvmlShutdown.
bool is_initialized();
void initialize();
void shut_down();

// Bytes that this process takes of a card, with its context; 0 before its first allocation there.
uint64_t used_here(int ordinal);

// Copies the text with its end. kInsufficientSize if it does not fit.
Result copy_text(const std::string& text, char* to, size_t length);

}  // namespace virtual_gpu::nvml
