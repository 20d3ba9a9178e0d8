// A run as the command that runs it. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/spec.h"

namespace headroom {

// "headroom profile --model-size 7b --context-length 2048 ...": every setting that is not the
// default, and those that tables state; host_limit: bytes of --host-memory; ranks: those of a mesh
// that run, where not all do. For a shell.
std::string profile_command(const RunSpec& spec, std::optional<int64_t> host_limit = {},
                            const std::vector<int64_t>& ranks = {});

// " --model-size 7b --release-gradients": those settings of the run that `is_said` takes, which is
// told of each whether it is the default. For a shell.
std::string flags_in_words(const RunSpec& spec,
                           const std::function<bool(const Field&, bool is_default)>& is_said);

// The word as a shell reads it: quoted where it must be.
std::string shell_word(const std::string& word);

}  // namespace headroom
