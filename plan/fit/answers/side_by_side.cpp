#include "plan/fit/answers/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/process/cores.h"

namespace headroom {

void side_by_side(size_t count, const std::function<void(size_t place)>& ask) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t place = next++; place < count; place = next++) ask(place);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(cores(), count)) others.emplace_back(work);
  } catch (const std::system_error&) {
    // No thread available: this one does the work.
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace headroom
