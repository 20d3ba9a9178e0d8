#include "virtual_gpu/report/host_read.h"

#include <atomic>
#include <cstdio>

#include "virtual_gpu/device/call_stack.h"

namespace virtual_gpu {
namespace {

constexpr int kShownFrames = 12;

std::atomic<uint64_t> reads{0};
std::atomic<void (*)(uint64_t)> on_read{nullptr};

void print_stack() {
  int shown = 0;
  for (const Frame& frame : named(call_stack())) {
    if (frame.name.empty() || shown == kShownFrames) continue;
    std::fprintf(stderr, "virtual GPU:   %.160s\n", frame.name.c_str());
    ++shown;
  }
}

}  // namespace

void note_host_read(uint64_t bytes) {
  if (bytes > kDecisionBytes || reads.fetch_add(1) > 0) return;
  if (auto* callback = on_read.load()) return callback(bytes);
  std::fprintf(stderr,
               "virtual GPU: values on a virtual GPU are zeros; the program reads %llu bytes back "
               "here (said once):\n",
               static_cast<unsigned long long>(bytes));
  print_stack();
}

uint64_t small_host_reads() { return reads.load(); }

}  // namespace virtual_gpu

void virtual_gpu_on_host_read(void (*callback)(uint64_t)) { virtual_gpu::on_read = callback; }
