#include "tests/profiling/tracker/failing_new.h"

#include <cstdlib>
#include <limits>
#include <new>

namespace headroom {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
thread_local int64_t left = kNever;

}  // namespace

FailingNew::FailingNew(int64_t count) { left = count; }
FailingNew::~FailingNew() { left = kNever; }

}  // namespace headroom

// Replaces it in the whole program, including libtorch.
void* operator new(std::size_t size) {
  if (headroom::left != headroom::kNever && headroom::left-- <= 0) throw std::bad_alloc();
  if (void* pointer = std::malloc(size == 0 ? 1 : size)) return pointer;
  throw std::bad_alloc();
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t /*size*/) noexcept { std::free(pointer); }
