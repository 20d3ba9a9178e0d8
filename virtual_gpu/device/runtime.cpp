// Note [The program's CUDA]
// Rationale: one library stands in for CUDA 12 and 13. A few functions kept their names and changed
//   their arguments, and libtorch queries the version.
// Approach: libtorch has NVIDIA's runtime in the process, by its RPATH, although none of its
//   functions is called. So the first one that was loaded tells the version; it needs no card for
//   that. Most functions need no distinction: CUDA 12's headers rename those that changed to _v2
//   and _v3 (cudart/cuda12.cpp), and CUDA 13's do not.
// Limits: a process with two runtimes has the version of the first.
#include "virtual_gpu/device/runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

namespace virtual_gpu {
namespace {

constexpr std::string_view kFile = "/libcudart.so.";
constexpr int kBuiltWith = 13000;
constexpr int kOldestMajor = 12;
constexpr int kNewestMajor = 13;
constexpr int kEnvironment = 5;  // headroom's exit code for what the machine lacks

struct Runtime {
  std::string path;
  int major = 0;
};

// 12 for ".../libcudart.so.12" and ".../libcudart.so.12.8.90"; 0 for other files.
int major_of(std::string_view path) {
  const size_t name = path.find(kFile);
  if (name == std::string_view::npos) return 0;
  const std::string_view version = path.substr(name + kFile.size());
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

int find_runtime(dl_phdr_info* library, size_t, void* found) {
  const int major = major_of(library->dlpi_name);
  if (major == 0) return 0;
  *static_cast<Runtime*>(found) = {.path = library->dlpi_name, .major = major};
  return 1;
}

Runtime loaded_runtime() {
  Runtime runtime;
  dl_iterate_phdr(find_runtime, &runtime);
  return runtime;
}

int version_of(const Runtime& runtime) {
  if (runtime.major == 0) return kBuiltWith;
  int version = 0;
  if (void* library = dlopen(runtime.path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    auto* ask = reinterpret_cast<int (*)(int*)>(dlsym(library, "cudaRuntimeGetVersion"));
    if (ask != nullptr && ask(&version) != 0) version = 0;
    dlclose(library);
  }
  return version != 0 ? version : runtime.major * 1000;
}

}  // namespace

int cuda_version() {
  static const int version = version_of(loaded_runtime());
  return version;
}

void end_with_unknown_runtime() {
  const Runtime runtime = loaded_runtime();
  if (runtime.major == 0) return;
  if (runtime.major >= kOldestMajor && runtime.major <= kNewestMajor) return;
  std::fprintf(stderr,
               "virtual GPU: the program is built for %s; supported: CUDA %d and %d "
               "(libcudart.so.%d, libcudart.so.%d)\n",
               runtime.path.c_str(), kOldestMajor, kNewestMajor, kOldestMajor, kNewestMajor);
  std::fflush(nullptr);
  _exit(kEnvironment);
}

}  // namespace virtual_gpu
