// Random allocate, free, map and unmap calls, compared with a simple model.
// usage: device_fuzz [SECONDS] [SEED]; prints the seed, exits 1 at the first difference.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "tests/virtual_gpu/device/test_card.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/memory/mapping.h"

namespace {

using namespace virtual_gpu;

constexpr uint64_t kPage = AddressSpace::kPageBytes;
constexpr uint64_t kRangePages = 32;

uint64_t seed = 0;

void expect(bool truth, const char* what) {
  if (truth) return;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what);
  std::exit(1);
}

// The reference for the device, as simple as possible.
struct Model {
  std::map<uint64_t, uint64_t> blocks;   // address -> requested bytes
  std::map<uint64_t, uint64_t> handles;  // handle -> pages, while referenced
  std::map<uint64_t, bool> owned;        // handle -> the owner's reference exists
  std::vector<uint64_t> mapped = std::vector<uint64_t>(kRangePages, 0);  // page -> handle

  uint64_t physical_pages() const {
    uint64_t pages = 0;
    for (const auto& [handle, count] : handles) pages += count;
    return pages;
  }
};

struct Fuzz {
  std::mt19937_64 random;
  Device device{test_card(), 0};
  Mappings mappings;
  Model model;
  uint64_t range = 0;

  uint64_t below(uint64_t limit) { return random() % limit; }

  void allocate() {
    const uint64_t bytes = below(4) == 0 ? 1 + below(20 * kPage) : 1 + below(5000);
    uint64_t address = 0;
    if (device.allocate(bytes, &address) != Status::kOk) return;
    for (const auto& [start, size] : model.blocks) {
      expect(address + bytes <= start || start + size <= address, "two blocks overlap");
    }
    expect(address % 512 == 0, "an address is not aligned");
    model.blocks[address] = bytes;
  }

  void release() {
    if (model.blocks.empty() || below(10) == 0) {
      expect(device.release(below(uint64_t{1} << 46) | 1) == Status::kInvalidValue,
             "a foreign address was freed");
      return;
    }
    auto block = model.blocks.begin();
    std::advance(block, static_cast<std::ptrdiff_t>(below(model.blocks.size())));
    expect(device.find(block->first)->bytes >= block->second, "a block shrank");
    expect(device.release(block->first) == Status::kOk, "a live block could not be freed");
    expect(device.release(block->first) != Status::kOk, "a block was freed twice");
    model.blocks.erase(block);
  }

  void create() {
    const uint64_t pages = 1 + below(4);
    uint64_t handle = 0;
    if (mappings.create(device, pages * kPage, &handle) != Status::kOk) return;
    model.handles[handle] = pages;
    model.owned[handle] = true;
  }

  bool is_mapped(uint64_t handle) const {
    for (const uint64_t page : model.mapped) {
      if (page == handle) return true;
    }
    return false;
  }

  void drop_if_unused(uint64_t handle) {
    if (!model.owned[handle] && !is_mapped(handle)) model.handles.erase(handle);
  }

  void map_or_unmap() {
    if (model.handles.empty()) return;
    auto chosen = model.handles.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(below(model.handles.size())));
    const auto [handle, pages] = *chosen;
    const uint64_t page = below(kRangePages);
    bool is_free = page + pages <= kRangePages;
    for (uint64_t i = page; is_free && i < page + pages; ++i) is_free = model.mapped[i] == 0;
    const Status status = mappings.map(range + page * kPage, pages * kPage, 0, handle);
    expect((status == Status::kOk) == is_free, "map() and the model disagree");
    if (!is_free) return;
    for (uint64_t i = page; i < page + pages; ++i) model.mapped[i] = handle;
    expect(mappings.device_at(range + page * kPage) == &device, "a mapped page has no device");
    if (below(2) == 0) return;
    expect(mappings.unmap(range + page * kPage, pages * kPage) == Status::kOk, "unmap() failed");
    for (uint64_t i = page; i < page + pages; ++i) model.mapped[i] = 0;
    drop_if_unused(handle);
  }

  void unmap_all_of_one() {
    const uint64_t page = below(kRangePages);
    if (model.mapped[page] == 0) return;
    // Only whole mappings: a single page may be half of one, or a whole one.
    const Status status = mappings.unmap(range + page * kPage, kPage);
    const uint64_t handle = model.mapped[page];
    expect((status == Status::kOk) == (model.handles.at(handle) == 1), "unmap() of half a mapping");
    if (status != Status::kOk) return;
    model.mapped[page] = 0;
    drop_if_unused(handle);
  }

  void release_handle() {
    if (model.handles.empty()) return;
    auto chosen = model.handles.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(below(model.handles.size())));
    const uint64_t handle = chosen->first;
    if (!model.owned[handle]) return;  // releasing another's reference is the caller's error
    expect(mappings.release(handle) == Status::kOk, "release() failed");
    model.owned[handle] = false;
    drop_if_unused(handle);
  }

  void check() {
    uint64_t requested = 0;
    for (const auto& [address, bytes] : model.blocks) requested += bytes;
    const uint64_t used = device.used_bytes() - model.physical_pages() * kPage;
    expect(used >= requested, "fewer bytes in use than are allocated");
    expect(used % kPage == 0, "a part of a page is in use");
    expect(device.used_bytes() <= 96ULL << 20, "more in use than the card has");
    expect(device.peak_bytes() >= device.used_bytes(), "the peak is below what is in use");
  }
};

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t calls = 0;
  for (; std::chrono::steady_clock::now() < end; ++seed) {
    Fuzz fuzz{.random = std::mt19937_64(seed)};
    expect(fuzz.mappings.reserve(kRangePages * kPage, 0, &fuzz.range) == Status::kOk, "reserve()");
    for (int i = 0; i < 2000; ++i, ++calls) {
      switch (fuzz.below(6)) {
        case 0:
        case 1:
          fuzz.allocate();
          break;
        case 2:
          fuzz.release();
          break;
        case 3:
          fuzz.create();
          break;
        case 4:
          fuzz.map_or_unmap();
          fuzz.unmap_all_of_one();
          break;
        default:
          fuzz.release_handle();
      }
      fuzz.check();
    }
  }
  std::printf("%llu calls agree\n", static_cast<unsigned long long>(calls));
  return 0;
}
