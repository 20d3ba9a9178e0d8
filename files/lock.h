// A lock that one process at a time can hold. No torch here.
#pragma once

namespace headroom {

// Locks an open file or directory for this process, like flock(). If another process holds it,
// waits for kLockSeconds: a killed run's cell keeps its locks until its memory is freed. Returns 0,
// or an errno: EWOULDBLOCK if the other process kept it.
constexpr int kLockSeconds = 5;
int lock_file(int descriptor);

}  // namespace headroom
