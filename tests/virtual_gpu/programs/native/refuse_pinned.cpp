// Loaded into a program on a virtual card: refuses pinned memory, which the stand-in maps without a
// reserve, after REFUSE_PINNED_BEYOND bytes.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" void* mmap(void* address, size_t bytes, int protection, int flags, int file,
                      off_t offset) {
  static std::atomic<size_t> given = 0;
  const bool pinned = protection == (PROT_READ | PROT_WRITE) &&
                      flags == (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (const char* limit = std::getenv("REFUSE_PINNED_BEYOND"); pinned && limit != nullptr) {
    if (given.fetch_add(bytes) + bytes > std::strtoull(limit, nullptr, 10)) {
      errno = ENOMEM;
      return MAP_FAILED;
    }
  }
  static const auto next = reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
  return next(address, bytes, protection, flags, file, offset);
}
