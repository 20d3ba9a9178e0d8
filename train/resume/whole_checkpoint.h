// Checkpoints that are unchanged since they were saved. No torch here.
#pragma once

#include <string>

namespace headroom {

// Throws UsageError, one line: the problem with --load-checkpoint, and the newest older checkpoint
// beside it that is fully verified.
[[noreturn]] void refuse_damaged(const std::string& checkpoint, const std::string& problem);

}  // namespace headroom
