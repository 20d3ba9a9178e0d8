// Runs libtorch's CPU kernels on the calling thread alone, during its lifetime.
//
// Note [Known values are computed by one thread]
// Rationale: computations on known values are small (1 MiB), and the program's other threads, or
//   other programs, use the processors. OpenMP's threads then wait for each other: a copy of 1 MiB
//   took 32 ms with two threads and takes less than 1 ms with one.
// Approach: sets OpenMP's number of threads for this thread, by functions of libtorch's OpenMP.
// Limits: a libtorch with another parallel backend keeps its threads.
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
