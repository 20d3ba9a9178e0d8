// libtorch's CPU kernels on the calling thread alone, while it lives.
//
// Note [Known values are computed by one thread]
// Rationale: what is computed of known values is small (1 MiB), and a program's other threads, or
//   other programs, use the processors. OpenMP's threads then wait for each other: a copy of 1 MiB
//   took 32 ms by two threads and takes less than one by one.
// Approach: the number of threads that OpenMP has for this thread, by the functions of the OpenMP
//   that libtorch brings.
// Limits: a libtorch with another way to run in parallel keeps its threads.
#pragma once

#include <dlfcn.h>

namespace headroom {

class OneThread {
 public:
  OneThread() : before_(functions().get == nullptr ? 1 : functions().get()) {
    if (before_ > 1) functions().set(1);
  }
  ~OneThread() {
    if (before_ > 1) functions().set(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct Functions {
    int (*get)() = nullptr;
    void (*set)(int) = nullptr;
  };
  static const Functions& functions() {
    static const Functions found = [] {
      Functions all{
          .get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
          .set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
      return all.get != nullptr && all.set != nullptr ? all : Functions{};
    }();
    return found;
  }

  const int before_;
};

}  // namespace headroom
