// A library for late_thread.py: a thread that requests Python's lock after Python ended, in a
// noexcept function, like the destructors of libtorch's threads.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace {

std::atomic<bool> has_state{false};
std::atomic<bool> has_asked{false};

template <typename Function>
Function* python(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

void ask_for_the_lock(void* state) noexcept { python<void(void*)>("PyEval_RestoreThread")(state); }

// The thread is already registered with Python, like libtorch's threads.
void wait_for_the_end() {
  python<int()>("PyGILState_Ensure")();
  void* const state = python<void*()>("PyEval_SaveThread")();
  has_state = true;
  while (python<int()>("_Py_IsFinalizing")() == 0) usleep(100);
  has_asked = true;
  ask_for_the_lock(state);
}

// Runs after Python has ended, so that the thread ends before the process.
void leave_it_time() {
  while (!has_asked) usleep(1000);
  usleep(200'000);
}

}  // namespace

// Called without the lock, as by ctypes.
extern "C" void start_late_thread() {
  std::atexit(leave_it_time);
  std::thread(wait_for_the_end).detach();
  while (!has_state) usleep(1000);
}
