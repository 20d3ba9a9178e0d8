// Ends the processes that a killed program left running. No torch here.
//
// Note [Orphans of a killed program]
// Rationale: a launcher starts each rank in its own session. If the launcher is killed, for lack of
//   host memory or by kill -9, nothing ends them: they wait for each other until their timeouts,
//   and hold the memory whose lack was the cause.
// Approach: while we run, a process that loses its parent becomes our child. After a program was
//   killed, these get SIGTERM, so that they report, and the remaining ones are killed.
// Limits: processes left by a program that ended by itself continue, as without us.
#pragma once

namespace headroom {

// From now on a descendant whose parent ends becomes our child.
void adopt_orphans();

// Sends SIGTERM to all our descendants.
void tell_descendants_to_end();
// Kills the remaining ones, until there are none.
void kill_descendants();

}  // namespace headroom
