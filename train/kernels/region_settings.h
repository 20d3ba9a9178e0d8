// The regions that --kernels compiled compiles: what each depends on, and its folder in the cache.
// No torch here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// The "card" of a region that is not compiled for a virtual card.
inline constexpr const char* kOwnCard = "this machine's";

// The settings of every library: its device, the card and torch.
nlohmann::json library_settings(const RunSpec& spec);

// The settings on which the libraries depend: those of a block, then those of the head with its
// loss.
std::vector<nlohmann::json> region_settings(const RunSpec& spec);

// The folder of all compiled libraries: in the user's cache.
std::string compiled_cache();

// The folder of the libraries of a region, or of an operation (train/kernels/operations/), whether
// it exists or not.
std::string region_folder(const nlohmann::json& settings);
// "block", "lion".
std::string name_of_compiled(const nlohmann::json& settings);

// Throws UsageError if compiled kernels do not stand with the other settings.
void check_compiled_kernels(const RunSpec& spec);

}  // namespace headroom
