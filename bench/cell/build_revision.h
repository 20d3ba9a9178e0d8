// Which sources this program was built from. No torch here.
#pragma once

#include <string>

namespace headroom {

// The git commit, followed by "+dirty-<hash of the difference>" when the working tree differed.
std::string build_revision();

}  // namespace headroom
