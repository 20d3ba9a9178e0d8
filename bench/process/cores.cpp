#include "bench/process/cores.h"

#include <algorithm>
#include <thread>

namespace headroom {

size_t cores() {
  static const size_t kCores = std::max(1U, std::thread::hardware_concurrency());
  return kCores;
}

}  // namespace headroom
