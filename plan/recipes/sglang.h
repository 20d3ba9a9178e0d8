// SGLang as headroom serve starts it: its flags, and the memory that its log names. No torch here.
#pragma once

#include "plan/recipes/serving.h"

namespace headroom {

// Flags of sglang.launch_server.
std::vector<std::string> sglang_flags_of(const Serving& serving);

// The memory of the first rank, in GiB, which SGLang calls GB. Nothing if the engine ended before
// it made its cache.
std::optional<EngineMemory> sglang_memory(const std::string& log);

}  // namespace headroom
