#include "virtual_gpu/report/host_read.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "virtual_gpu/report/ending_signal.h"
#include "virtual_gpu/report/read_loop.h"

namespace virtual_gpu {
namespace {

constexpr int kShownFrames = 12;
constexpr size_t kMostPlaces = 200;

using Callback = void (*)(void*, const void*, uint64_t);

std::atomic<uint64_t> reads{0};
std::atomic<Callback> on_read{nullptr};
std::atomic<bool> has_hook{false};  // also once it has stopped listening: the process is ending

// HEADROOM_VIRTUAL_READS=expected: the program does not branch on its reads.
bool reads_are_expected() {
  const char* word = std::getenv("HEADROOM_VIRTUAL_READS");
  return word != nullptr && std::string_view(word) == "expected";
}

void print_stack(const CallStack& stack) {
  int shown = 0;
  for (const Frame& frame : named(stack)) {
    if (frame.name.empty() || shown == kShownFrames) continue;
    std::fprintf(stderr, "virtual GPU:   %.160s\n", frame.name.c_str());
    ++shown;
  }
}

// Places by their return addresses. Never destroyed: libraries read in their exit handlers.
struct Places {
  using Key = std::vector<void*>;
  std::mutex mutex;
  std::map<Key, HostReadPlace> by_stack;
  ReadLoop loop;
};

Places& places() {
  static auto* all = new Places();
  return *all;
}

// The number of reads if a loop must be reported, else 0.
uint64_t add_place(const CallStack& stack, uint64_t bytes) {
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  const Places::Key key(stack.addresses.begin(), stack.addresses.begin() + stack.size);
  const auto found = all.by_stack.find(key);
  const bool is_new = found == all.by_stack.end();
  if (is_new && all.by_stack.size() >= kMostPlaces) return 0;
  HostReadPlace& place = is_new ? all.by_stack[key] : found->second;
  if (is_new) place.stack = stack;
  ++place.reads;
  place.bytes += bytes;
  return all.loop.note(is_new, ReadLoop::Clock::now());
}

}  // namespace

void note_host_read(void* to, const void* from, uint64_t bytes) {
  wait_if_ending();
  const bool is_first = bytes <= kDecisionBytes && reads.fetch_add(1) == 0;
  if (bytes > kListBytes) return;
  if (auto* callback = on_read.load()) return callback(to, from, bytes);
  if (bytes > kDecisionBytes || has_hook) return;
  const CallStack stack = call_stack();
  const uint64_t in_a_row = add_place(stack, bytes);
  if (is_first && !reads_are_expected()) {
    std::fprintf(stderr,
                 "virtual GPU: values on a virtual GPU are zeros; the program reads %llu bytes "
                 "back here (shown once):\n",
                 static_cast<unsigned long long>(bytes));
    print_stack(stack);
  }
  if (in_a_row == 0) return;
  std::fprintf(stderr,
               "virtual GPU: %llu reads of device values in a row and none at a new place; they "
               "are all zeros, so a loop that waits for another value never ends:\n",
               static_cast<unsigned long long>(in_a_row));
  print_stack(stack);
}

uint64_t small_host_reads() { return reads.load(); }

std::vector<HostReadPlace> host_read_places() {
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  std::vector<HostReadPlace> found;
  for (const auto& [key, place] : all.by_stack) found.push_back(place);
  std::stable_sort(found.begin(), found.end(), [](const HostReadPlace& a, const HostReadPlace& b) {
    return a.reads > b.reads;
  });
  return found;
}

}  // namespace virtual_gpu

void virtual_gpu_on_host_read(void (*callback)(void*, const void*, uint64_t)) {
  virtual_gpu::on_read = callback;
  virtual_gpu::has_hook = true;
}
