// The tier of a test: `pr` runs a fixed part of the long tests.
#pragma once

#include <cstdlib>

namespace headroom {

// HEADROOM_LONG is set by ctest -C nightly, for tests that then run all of it.
inline bool is_at_night() { return std::getenv("HEADROOM_LONG") != nullptr; }

}  // namespace headroom
