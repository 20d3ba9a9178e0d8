// Runs independent calls on every core at once. No torch here.
#pragma once

#include <cstddef>
#include <functional>

namespace headroom {

// Calls ask(0) to ask(count - 1), started in that order, on a thread for each core; returns when
// all have returned. `ask` must be thread-safe and must not throw.
void side_by_side(size_t count, const std::function<void(size_t place)>& ask);

}  // namespace headroom
