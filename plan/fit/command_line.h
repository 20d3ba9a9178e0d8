// A run as the command that runs it. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/spec.h"

namespace headroom {

// "headroom profile --model-size 7b --context-length 2048 ...": every setting that is not the
// default, and those that tables state; host_limit: bytes of --host-memory. For a shell.
std::string profile_command(const RunSpec& spec, std::optional<int64_t> host_limit = {});

// The word as a shell reads it: quoted where it must be.
std::string shell_word(const std::string& word);

}  // namespace headroom
