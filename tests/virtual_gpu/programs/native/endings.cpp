// Takes 256 MiB of the card, acts by the argument, takes 256 MiB more and ends: every way in which
// a process starts others and ends itself. Linked against the stand-in, without libtorch.
// usage: endings HOW
#include <cuda_runtime_api.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern char** environ;

namespace {

constexpr size_t kBytes = size_t{256} << 20;
constexpr const char* kNoProgram = "/nosuch/program";

void take_memory() {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, kBytes) != cudaSuccess) std::abort();
}

void wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) std::abort();
}

// Like Python's subprocess: the child shares our memory until exec, which fails.
void try_a_missing_tool_with_vfork() {
  const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (child == 0) {
    execl(kNoProgram, kNoProgram, nullptr);
    _exit(127);
  }
  wait_for(child);
}

void try_a_missing_tool_with_posix_spawn() {
  pid_t child = 0;
  char* words[] = {const_cast<char*>(kNoProgram), nullptr};
  if (posix_spawnp(&child, kNoProgram, nullptr, nullptr, words, environ) == 0) wait_for(child);
}

void fork_a_child_that(void (*ends)(int)) {
  const pid_t child = fork();
  if (child == 0) ends(0);
  wait_for(child);
}

__attribute__((noinline)) void read_often(const void* device) {
  int value = 1;
  for (int i = 0; i < 1500; ++i) cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost);
  if (value != 0) std::abort();
}

void read_values() {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, 4096) != cudaSuccess) std::abort();
  read_often(pointer);
  cudaFree(pointer);
}

// Only the child dies, by the signal as usual.
void kill_a_child() {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  kill(child, SIGTERM);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) std::abort();
}

// The program sees dispositions as without the stand-in's handlers.
void check_dispositions() {
  struct sigaction present {};
  sigaction(SIGTERM, nullptr, &present);
  if (present.sa_handler != SIG_DFL || (present.sa_flags & SA_SIGINFO) != 0) std::abort();
  if (std::signal(SIGTERM, SIG_IGN) != SIG_DFL) std::abort();
  std::raise(SIGTERM);
  if (std::signal(SIGTERM, SIG_DFL) != SIG_IGN) std::abort();
  if (std::signal(SIGTERM, SIG_DFL) != SIG_DFL) std::abort();
}

void between(std::string_view how) {
  if (how == "reads") read_values();
  if (how == "child_killed") kill_a_child();
  if (how == "dispositions") check_dispositions();
  if (how == "vfork") try_a_missing_tool_with_vfork();
  if (how == "posix_spawn") try_a_missing_tool_with_posix_spawn();
  if (how == "fork_exit") fork_a_child_that(std::exit);
  if (how == "fork__exit") fork_a_child_that(_exit);
  if (how == "fork_quick_exit") fork_a_child_that(std::quick_exit);
  if (how == "fork_abort") fork_a_child_that([](int) { std::abort(); });
  if (how == "fork_exec") fork_a_child_that([](int) { execlp("true", "true", nullptr); });
  if (how == "exec_fails") execlp("nosuch-program", "nosuch-program", nullptr);
}

void end(const char* self, std::string_view how) {
  char* const words[] = {const_cast<char*>(self), const_cast<char*>("once"), nullptr};
  if (how == "_exit") _exit(0);
  if (how == "_Exit") std::_Exit(0);
  if (how == "quick_exit") std::quick_exit(0);
  if (how == "abort") std::abort();
  if (how == "raise") std::raise(SIGTERM);
  if (how == "default_again") {
    std::signal(SIGINT, [](int) {});
    std::signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
  }
  if (how == "handled") {
    std::signal(SIGTERM, [](int) { _exit(3); });
    std::raise(SIGTERM);
  }
  if (how == "hangs") {
    std::puts("ready");
    std::fflush(stdout);
    for (;;) pause();
  }
  if (how == "execl") execl(self, self, "once", nullptr);
  if (how == "execle") execle(self, self, "once", nullptr, environ);
  if (how == "execlp") execlp(self, self, "once", nullptr);
  if (how == "execv") execv(self, words);
  if (how == "execve") execve(self, words, environ);
  if (how == "execvp") execvp(self, words);
  if (how == "execvpe") execvpe(self, words, environ);
}

}  // namespace

int main(int, char** words) {
  const std::string_view how = words[1];
  take_memory();
  if (how == "once") return 0;
  between(how);
  take_memory();
  end(words[0], how);
  return 0;
}
