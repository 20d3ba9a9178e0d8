// Paths for the dynamic loader's lists. No torch here.
//
// Note [Paths in lists]
// Rationale: the loader splits LD_PRELOAD at spaces and colons, without quoting, and a build may be
//   in any folder.
// Approach: a folder whose path has either is replaced by a link in a temporary folder, removed
//   when this process ends.
// Limits: a killed process leaves the link; a program that outlives this process cannot start
//   others under the stand-in.
#pragma once

#include <string>

namespace headroom {

// `folder`, or a link to it whose path has neither a space nor a colon; always the same for a
// folder. Throws std::runtime_error if no place for the link is writable.
std::string loader_path(const std::string& folder);

}  // namespace headroom
