// The command line of a run. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// "headroom profile --model-size 7b --context-length 2048 ...", quoted for a shell: every setting
// that is not the default, and those that tables state. host_limit: bytes of --host-memory. ranks:
// the ranks of a mesh that run, empty for all.
std::string profile_command(const RunSpec& spec, std::optional<int64_t> host_limit = {},
                            const std::vector<int64_t>& ranks = {});

// " --model-size 7b --release-gradients", quoted for a shell: the settings for which `is_said`
// returns true.
std::string flags_in_words(const RunSpec& spec,
                           const std::function<bool(const Field&, bool is_default)>& is_said);

// Quotes the word for a shell where needed.
std::string shell_word(const std::string& word);

}  // namespace headroom
