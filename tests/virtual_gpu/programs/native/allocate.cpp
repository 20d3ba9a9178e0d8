// A user's C++ program: takes memory from libtorch's allocator once or, with `all`, until there is
// none, and catches no exception; with `stopped` SIGTERM ends it.
// usage: allocate BYTES [all|stopped]
#include <c10/cuda/CUDACachingAllocator.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

void* last = nullptr;

// Not static, inlined or a tail call, so that the stack names it.
__attribute__((noinline)) void take_memory(size_t bytes) {
  last = c10::cuda::CUDACachingAllocator::raw_alloc(bytes);
}

int main(int count, char** words) {
  c10::cuda::CUDACachingAllocator::init(1);
  const std::string_view how = count > 2 ? words[2] : "";
  do {
    take_memory(std::strtoull(words[1], nullptr, 10));
  } while (how == "all");
  if (how == "stopped") std::raise(SIGTERM);
}
