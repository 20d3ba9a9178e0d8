// A run that keeps known states on the disk, for tests of kills, refusals and preloaded faults.
//   disk_states_program DIRECTORY STEPS uring|threads [keep] [refused]
// STEPS: -1 = until it is killed. refused: the kernel refuses io_uring. Prints "note LINE" and
// "step N"; exits 2 and 5 like headroom, 9 if a bit is wrong.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/train/offload/disk/known_states.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// Like container runtimes.
void refuse_io_uring() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    throw std::runtime_error("no seccomp here");
  }
}

int run(const std::vector<std::string>& words) {
  DiskStatesOptions options{.directory = words.at(0),
                            .identity = "tiny, seed 1",
                            .block_bytes = kKnownBlockBytes,
                            .buffers = 4};
  if (words.at(2) == "threads") options.engine = DiskEngine::kThreads;
  for (size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "keep") options.keep = true;
    if (words[i] == "refused") refuse_io_uring();
  }
  DiskStates states(options, known_regions());
  for (const std::string& note : states.notes()) printf("note %s\n", note.c_str());
  int64_t wrong = 0;
  if (states.steps_done() < 0) {
    known_fill(states);
  } else {
    wrong += count_unknown_on_disk(states);
  }
  for (long left = atol(words.at(1).c_str()); left != 0; --left) {
    wrong += known_step(states);
    printf("step %ld\n", static_cast<long>(states.steps_done()));
    fflush(stdout);
  }
  wrong += count_unknown_on_disk(states);
  return wrong == 0 ? 0 : 9;
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  try {
    return headroom::run({argv + 1, argv + argc});
  } catch (const headroom::UsageError& error) {
    printf("error %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    printf("error %s\n", error.what());
    return 5;
  }
}
