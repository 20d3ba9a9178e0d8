// When preloaded, simulates disk faults for files named headroom-states.* and for scratch files,
// which have no name: HEADROOM_DISK_FAULT is
//   CALL:eio:N          pread, pwrite or fdatasync fails with EIO from its Nth call on, from 1
//   CALL:full:N         the same with ENOSPC
//   CALL:short:N        pread or pwrite moves half of the requested bytes, every Nth time
//   fallocate:unsupported:0
// A fault of pread or pwrite also refuses io_uring.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Fault {
  char call[32] = "";
  char kind[32] = "";
  int number = 0;

  Fault() {
    const char* text = getenv("HEADROOM_DISK_FAULT");
    if (text != nullptr) sscanf(text, "%31[^:]:%31[^:]:%d", call, kind, &number);
  }
};

// io_uring's transfers are not calls of the program, so it is refused, as by container runtimes.
__attribute__((constructor)) void refuse_io_uring() {
  const char* fault = getenv("HEADROOM_DISK_FAULT");
  if (fault == nullptr || *fault != 'p') return;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

bool is_ours(int file) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = readlink(link.c_str(), target, sizeof target - 1);
  if (length < 0) return false;
  target[length] = '\0';
  // The name that Linux shows for O_TMPFILE: /a/directory/#1234 (deleted).
  const bool nameless = strstr(target, "/#") != nullptr && strstr(target, " (deleted)") != nullptr;
  return nameless || strstr(target, "headroom-states.") != nullptr;
}

enum class Outcome { kWell, kShort, kFailed };

Outcome outcome(const char* call, int file) {
  static const Fault fault;
  static std::atomic<int> calls{0};
  if (strcmp(fault.call, call) != 0 || !is_ours(file)) return Outcome::kWell;
  const int number = ++calls;
  if (strcmp(fault.kind, "short") == 0) {
    return number % fault.number == 0 ? Outcome::kShort : Outcome::kWell;
  }
  if (number < fault.number) return Outcome::kWell;
  errno = strcmp(fault.kind, "eio") == 0    ? EIO
          : strcmp(fault.kind, "full") == 0 ? ENOSPC
                                            : EOPNOTSUPP;
  return Outcome::kFailed;
}

ssize_t moved(long call, const char* name, int file, void* memory, size_t bytes, off_t offset) {
  const Outcome what = outcome(name, file);
  if (what == Outcome::kFailed) return -1;
  return syscall(call, file, memory, what == Outcome::kShort ? bytes / 2 : bytes, offset);
}

}  // namespace

extern "C" {

ssize_t pread(int file, void* memory, size_t bytes, off_t offset) {
  return moved(SYS_pread64, "pread", file, memory, bytes, offset);
}

ssize_t pwrite(int file, const void* memory, size_t bytes, off_t offset) {
  return moved(SYS_pwrite64, "pwrite", file, const_cast<void*>(memory), bytes, offset);
}

ssize_t pread64(int file, void* memory, size_t bytes, off_t offset) {
  return pread(file, memory, bytes, offset);
}

ssize_t pwrite64(int file, const void* memory, size_t bytes, off_t offset) {
  return pwrite(file, memory, bytes, offset);
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  if (outcome("fallocate", file) == Outcome::kFailed) return -1;
  return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, bytes));
}

int fdatasync(int file) {
  if (outcome("fdatasync", file) == Outcome::kFailed) return -1;
  return static_cast<int>(syscall(SYS_fdatasync, file));
}
}
