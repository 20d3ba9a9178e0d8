// A lock that one process at a time has. No torch here.
#pragma once

namespace headroom {

// Locks an open file or directory for this process, as flock() does. Where another one has it,
// waits for kLockSeconds: the cell of a run that was killed lives until its memory is given back,
// and keeps its locks so long. Returns 0, or an errno: EWOULDBLOCK where the other one kept it.
constexpr int kLockSeconds = 5;
int lock_file(int descriptor);

}  // namespace headroom
