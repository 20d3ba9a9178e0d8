// When preloaded, simulates disk faults for a checkpoint's files: HEADROOM_CHECKPOINT_FAULT is
//   RANK:N:full    the Nth fsync of such a file in that rank fails with ENOSPC
//   RANK:N:kill    the rank is killed there
//   RANK:N:hang    it does not return
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Fault {
  int rank = -1;
  int number = 0;
  char kind[16] = "";

  Fault() {
    const char* text = getenv("HEADROOM_CHECKPOINT_FAULT");
    if (text != nullptr) sscanf(text, "%d:%d:%15s", &rank, &number, kind);
  }
};

bool is_ours(int file) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = readlink(link.c_str(), target, sizeof target - 1);
  if (length < 0) return false;
  target[length] = '\0';
  return strstr(target, "/shard-") != nullptr;
}

}  // namespace

extern "C" int fsync(int file) {
  static const Fault fault;
  static std::atomic<int> calls{0};
  const char* rank = getenv("RANK");
  const bool is_here = atoi(rank == nullptr ? "0" : rank) == fault.rank && is_ours(file);
  if (is_here && ++calls == fault.number) {
    if (strcmp(fault.kind, "kill") == 0) raise(SIGKILL);
    while (strcmp(fault.kind, "hang") == 0) pause();
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}
