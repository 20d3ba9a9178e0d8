// The exec family: a program that has used CUDA reports before another replaces it.
// Note [Endings]
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/report/ending.h"
#include "virtual_gpu/report/libc_function.h"

using namespace virtual_gpu;

namespace {

constinit LibcFunction<int, const char*, char* const*, char* const*> libc_execve("execve");
constinit LibcFunction<int, const char*, char* const*> libc_execv("execv");
constinit LibcFunction<int, const char*, char* const*> libc_execvp("execvp");
constinit LibcFunction<int, const char*, char* const*, char* const*> libc_execvpe("execvpe");
constinit LibcFunction<int, int, char* const*, char* const*> libc_fexecve("fexecve");
constinit LibcFunction<int, int, const char*, char* const*, char* const*, int> libc_execveat(
    "execveat");

__attribute__((constructor)) void find_all() {
  libc_execve.find();
  libc_execv.find();
  libc_execvp.find();
  libc_execvpe.find();
  libc_fexecve.find();
  libc_execveat.find();
}

// `call` returns only on failure. A child of vfork is in our memory: it writes nothing.
template <typename Call>
int replace_program(const Call& call) {
  if (!Machine::is_of_this_process()) return call();
  report_ending();
  const int result = call();
  const int error = errno;
  take_report_back();
  errno = error;
  return result;
}

// Bytes of the argument array: the first word, those in `rest`, the final nullptr.
size_t bytes_for(va_list* rest) {
  va_list copy;
  va_copy(copy, *rest);
  size_t words = 2;
  while (va_arg(copy, char*) != nullptr) ++words;
  va_end(copy);
  return words * sizeof(char*);
}

// Takes the words from `rest`. `space` is on the caller's stack: a child of vfork may not allocate.
char** as_array(void* space, const char* first, va_list* rest) {
  auto** words = static_cast<char**>(space);
  words[0] = const_cast<char*>(first);
  for (char** word = words; *word != nullptr;) *++word = va_arg(*rest, char*);
  return words;
}

}  // namespace

extern "C" {

int execve(const char* path, char* const words[], char* const environment[]) noexcept {
  return replace_program([&] { return libc_execve(path, words, environment); });
}

int execv(const char* path, char* const words[]) noexcept {
  return replace_program([&] { return libc_execv(path, words); });
}

int execvp(const char* name, char* const words[]) noexcept {
  return replace_program([&] { return libc_execvp(name, words); });
}

int execvpe(const char* name, char* const words[], char* const environment[]) noexcept {
  return replace_program([&] { return libc_execvpe(name, words, environment); });
}

int fexecve(int file, char* const words[], char* const environment[]) noexcept {
  return replace_program([&] { return libc_fexecve(file, words, environment); });
}

int execveat(int folder, const char* path, char* const words[], char* const environment[],
             int flags) noexcept {
  return replace_program([&] { return libc_execveat(folder, path, words, environment, flags); });
}

int execl(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  char** words = as_array(__builtin_alloca(bytes_for(&rest)), first, &rest);
  va_end(rest);
  return execv(path, words);
}

int execlp(const char* name, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  char** words = as_array(__builtin_alloca(bytes_for(&rest)), first, &rest);
  va_end(rest);
  return execvp(name, words);
}

int execle(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  char** words = as_array(__builtin_alloca(bytes_for(&rest)), first, &rest);
  char* const* environment = va_arg(rest, char* const*);
  va_end(rest);
  return execve(path, words, environment);
}

}  // extern "C"
