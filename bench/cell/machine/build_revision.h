// This program's source revision and build settings. No torch here.
#pragma once

#include <string>

namespace headroom {

// The git commit, followed by "+dirty-<hash of the difference>" if the working tree differed. See
// Note [Name of a build] in cmake/build_revision.cmake.
std::string build_revision();

// "Release, GNU 12.2.0": build type, compiler, then sanitizers and the flags of the user if any.
std::string build_settings();

}  // namespace headroom
