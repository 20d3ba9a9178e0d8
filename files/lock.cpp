#include "files/lock.h"

#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace headroom {

int lock_file(int descriptor) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(kLockSeconds);
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || Clock::now() >= end) return errno;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

}  // namespace headroom
