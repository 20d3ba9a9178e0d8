// Symbols of libtorch's libraries in a process that loaded them by itself.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <string>

namespace headroom {

struct WantedLibrary {
  std::string name;  // "/libc10_cuda.so"
  std::string path;
};

inline int find_library(dl_phdr_info* library, size_t, void* data) {
  auto* wanted = static_cast<WantedLibrary*>(data);
  const std::string path = library->dlpi_name;
  if (path.find(wanted->name) == std::string::npos) return 0;
  wanted->path = path;
  return 1;
}

// First in the global `scope` (RTLD_DEFAULT: the program's own copy, where it refers to a
// library's variable; RTLD_NEXT: the next definition after the caller's), then in the library,
// however it was loaded: Python's libraries are not in the global scope.
// Hidden: RTLD_NEXT counts from the library that calls dlsym, so each library has its own copy.
template <typename T>
__attribute__((visibility("hidden"))) T* loaded_symbol(void* scope, const char* library,
                                                       const char* name) {
  if (void* found = dlsym(scope, name)) return reinterpret_cast<T*>(found);
  WantedLibrary wanted{library, ""};
  dl_iterate_phdr(find_library, &wanted);
  if (wanted.path.empty()) return nullptr;
  void* own = dlopen(wanted.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return own == nullptr ? nullptr : reinterpret_cast<T*>(dlsym(own, name));
}

// "2.11.0", from libtorch's stable C interface; "" before it existed (2.9), and without libtorch.
__attribute__((visibility("hidden"))) inline std::string libtorch_version() {
  auto* const version =
      loaded_symbol<uint64_t()>(RTLD_DEFAULT, "/libtorch_cpu.so", "aoti_torch_abi_version");
  if (version == nullptr) return "";
  const uint64_t packed = version();
  const auto part = [&](int shift) { return std::to_string((packed >> shift) & 0xff); };
  return part(56) + "." + part(48) + "." + part(40);
}

}  // namespace headroom
