// A process's state in /proc. No torch here.
#pragma once

#include <sys/types.h>

#include <optional>

namespace headroom {

// The parent of a running process; nullopt if the process is a zombie or does not exist.
std::optional<pid_t> parent_of_running(pid_t pid);

}  // namespace headroom
