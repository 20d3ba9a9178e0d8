// A C++ program of somebody else's: takes memory from libtorch's allocator once or, with a second
// argument, until there is none; catches nothing.
// usage: allocate BYTES [all]
#include <c10/cuda/CUDACachingAllocator.h>

#include <cstdlib>

void* last = nullptr;

// Neither static nor inlined nor a jump: the stack names it.
__attribute__((noinline)) void take_memory(size_t bytes) {
  last = c10::cuda::CUDACachingAllocator::raw_alloc(bytes);
}

int main(int count, char** words) {
  c10::cuda::CUDACachingAllocator::init(1);
  do {
    take_memory(std::strtoull(words[1], nullptr, 10));
  } while (count > 2);
}
