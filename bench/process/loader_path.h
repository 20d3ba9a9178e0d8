// Paths as the dynamic loader's lists can hold them. No torch here.
//
// Note [Paths in lists]
// Rationale: the loader splits LD_PRELOAD at spaces and colons and knows no quotes, and a build
//   may lie anywhere.
// Approach: a folder whose path has either is reached through a link in a folder of this process,
//   which goes away when the process ends.
// Limits: a process that is killed leaves the link; a program that outlives this process cannot
//   start others under the stand-in.
#pragma once

#include <string>

namespace headroom {

// `folder`, or a link to it whose path has neither a space nor a colon. The same for the same
// folder. Throws std::runtime_error when there is nowhere to put the link.
std::string loader_path(const std::string& folder);

}  // namespace headroom
