// Processes that a killed program left running. No torch here.
//
// Note [What a killed program leaves]
// Rationale: a launcher starts its ranks in sessions of their own. Where the kernel kills it, for
//   want of host memory or by anybody's kill -9, nobody ends them: they wait for each other as
//   long as their timeouts say, and hold the memory whose lack began it.
// Approach: while we run, what loses its parent becomes our child. After a program that was killed
//   they are told to end, so that they report, and those that stay are killed.
// Limits: a program that ended by itself may leave what it likes: that goes on, as without us.
#pragma once

namespace headroom {

// From now on a process that we started, directly or not, and whose parent ends is our child.
void adopt_orphans();

// Sends SIGTERM to our children and theirs.
void tell_descendants_to_end();
// Kills those that are left, until there are none.
void kill_descendants();

}  // namespace headroom
