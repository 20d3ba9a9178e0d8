#include "virtual_gpu/device/machine.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

#include "virtual_gpu/device/runtime.h"
#include "virtual_gpu/device/visible.h"

namespace virtual_gpu {
namespace {

// The handles of the default streams are 0, cudaStreamLegacy (1) and cudaStreamPerThread (2).
constexpr uintptr_t kPerThread = 2;

std::atomic<bool> is_forked{false};
std::atomic<pid_t> maker{0};  // the process that made the machine
thread_local int current_device = 0;

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// -1 if it is not a whole number.
int whole_number(const std::string& text) {
  int value = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? value : -1;
}

bool are_events_late(const std::string& text) {
  if (text == "late") return true;
  if (text.empty() || text == "done") return false;
  throw std::invalid_argument("HEADROOM_VIRTUAL_EVENTS='" + text + "' is not done or late");
}

// If a launcher started more ranks than cards: printed before the program's own error.
void say_missing_card(int cards) {
  const int rank = whole_number(environment("LOCAL_RANK"));
  if (rank < cards) return;
  const int wanted = std::max(whole_number(environment("LOCAL_WORLD_SIZE")), rank + 1);
  std::fprintf(stderr,
               "virtual GPU: LOCAL_RANK=%d, and this machine has %d card%s: give headroom dryrun "
               "--gpus %d\n",
               rank, cards, cards == 1 ? "" : "s", wanted);
}

std::string unused_stem(const std::string& prefix) {
  if (prefix.empty()) return "";
  const std::string first = prefix + "." + std::to_string(getpid());
  const auto is_used = [](const std::string& stem) {
    return access((stem + ".json").c_str(), F_OK) == 0 ||
           access((stem + ".torch.json").c_str(), F_OK) == 0;
  };
  std::string stem = first;
  for (int program = 2; is_used(stem); ++program) stem = first + "." + std::to_string(program);
  return stem;
}

}  // namespace

int cards_of_machine() {
  const std::string text = environment("HEADROOM_VIRTUAL_COUNT");
  if (text.empty()) return 1;
  const int count = whole_number(text);
  if (count < 1 || count > Machine::kMostDevices) {
    throw std::invalid_argument("HEADROOM_VIRTUAL_COUNT='" + text + "' is not 1 to " +
                                std::to_string(Machine::kMostDevices));
  }
  return count;
}

Machine& Machine::get() {
  static Machine* machine = new Machine();
  return *machine;
}

bool Machine::is_of_this_process() { return maker.load() == getpid(); }
bool Machine::forked() { return is_forked.load(std::memory_order_relaxed); }

Machine::Machine()
    : contents([this](uint64_t address) { return extent_of(address); }),
      report_stem_(unused_stem(environment("HEADROOM_VIRTUAL_REPORT"))) {
  read_environment();
  pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  maker = getpid();
  if (virtual_gpu_machine_made != nullptr) virtual_gpu_machine_made(report_stem_.c_str());
  std::atexit([] {
    constexpr auto kMost = std::chrono::seconds(2);  // a watchdog queries every 100 ms
    if (is_of_this_process() && get().streams.is_late()) get().streams.end_late(kMost);
  });
  if (headroom_observe == nullptr || report_stem_.empty()) return;
  // Registered later than libtorch's own handlers, so it runs before them.
  std::atexit([] {
    if (is_of_this_process()) headroom_observe(get().report_stem().c_str());
  });
}

void Machine::read_environment() {
  try {
    end_with_unknown_runtime();
    const std::string text = environment("HEADROOM_VIRTUAL_CARD");
    if (text.empty()) {
      throw std::invalid_argument(
          "HEADROOM_VIRTUAL_CARD is not set; start the program with "
          "headroom dryrun --card h200 -- PROGRAM");
    }
    const Card card = parse_card(text);
    if (are_events_late(environment("HEADROOM_VIRTUAL_EVENTS"))) streams.make_late();
    cards_of_host_ = cards_of_machine();
    cards_ = visible_cards(getenv("CUDA_VISIBLE_DEVICES"), cards_of_host_);
    say_missing_card(cards_of_host_);
    for (int i = 0; i < static_cast<int>(cards_.size()); ++i) {
      devices_.push_back(std::make_unique<Device>(card, i));
      default_streams_.push_back(streams.create_default(i));
    }
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "virtual GPU: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "virtual GPU: no address space left for the card (ulimit -v?)\n");
    devices_.clear();
  }
}

std::array<char, 16> Machine::uuid(int ordinal) const {
  return uuid_of(cards_[static_cast<size_t>(ordinal)]);
}

int Machine::current() { return current_device; }
void Machine::set_current(int ordinal) { current_device = ordinal; }

Stream& Machine::stream(const void* handle) {
  if (reinterpret_cast<uintptr_t>(handle) <= kPerThread) {
    return *default_streams_[static_cast<size_t>(current())];
  }
  return *static_cast<Stream*>(const_cast<void*>(handle));
}

Device* Machine::owner(uint64_t address) {
  for (const auto& device : devices_) {
    if (device->contains(address)) return device.get();
  }
  const std::lock_guard lock(mappings_mutex);
  if (!mappings.contains(address)) return nullptr;
  Device* mapped = mappings.device_at(address);
  return mapped != nullptr || devices_.empty() ? mapped : devices_.front().get();
}

// A block as the driver allocated it. A range that is mapped piece by piece counts as one.
Contents::Extent Machine::extent_of(uint64_t address) {
  for (const auto& device : devices_) {
    if (!device->contains(address)) continue;
    if (const auto block = device->find(address)) {
      return {block->address, block->address + block->bytes};
    }
  }
  const std::lock_guard lock(mappings_mutex);
  const auto range = mappings.range_at(address);
  return range ? Contents::Extent{range->first, range->second} : Contents::Extent{address, address};
}

}  // namespace virtual_gpu
