// The tier that a test runs in: `pr` takes a part of what is long, always the same one.
#pragma once

#include <cstdlib>

namespace headroom {

// Set by ctest -C nightly for the tests that take all of it.
inline bool is_at_night() { return std::getenv("HEADROOM_LONG") != nullptr; }

}  // namespace headroom
