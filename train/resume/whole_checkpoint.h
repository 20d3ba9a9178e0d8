// Checkpoints that are what they were when they were saved. No torch here.
#pragma once

#include <string>

namespace headroom {

// Throws UsageError, one line: the problem with --load-checkpoint, and the newest checkpoint beside
// it, older and read to its last bit, that can be loaded instead.
[[noreturn]] void refuse_damaged(const std::string& checkpoint, const std::string& problem);

}  // namespace headroom
