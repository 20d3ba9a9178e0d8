// What the kernel says of a process. No torch here.
#pragma once

#include <sys/types.h>

#include <optional>

namespace headroom {

// The parent of a process that has neither ended nor waits for that one to notice; nullopt where
// there is none of that number.
std::optional<pid_t> parent_of_running(pid_t pid);

}  // namespace headroom
