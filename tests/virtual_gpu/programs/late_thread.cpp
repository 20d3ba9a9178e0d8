// A library for late_thread.py: a thread that asks for Python's lock once Python ends, in a
// function that lets nothing through, as the destructors of libtorch's threads do.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

std::atomic<bool> has_asked{false};

int call(const char* name) { return reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name))(); }

void ask_for_the_lock() noexcept { call("PyGILState_Ensure"); }

// Runs after Python has ended: the thread's end is seen before the process's.
void leave_it_time() {
  while (!has_asked) usleep(1000);
  usleep(200'000);
}

}  // namespace

extern "C" void start_late_thread() {
  std::atexit(leave_it_time);
  std::thread([] {
    while (call("_Py_IsFinalizing") == 0) usleep(100);
    has_asked = true;
    ask_for_the_lock();
  }).detach();
}
