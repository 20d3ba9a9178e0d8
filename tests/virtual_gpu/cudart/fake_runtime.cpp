// A file that tests/virtual_gpu/cudart/runtimes_test.py copies to the name of NVIDIA's runtime of
// any version: 12.4 as libcudart.so.12, 13.4 as libcudart.so.13.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

static const char kHere = 0;  // the function's own name is the preloaded one's

extern "C" int cudaRuntimeGetVersion(int* version) {
  Dl_info self;
  if (dladdr(&kHere, &self) == 0) return 1;
  *version = std::atoi(std::strrchr(self.dli_fname, '.') + 1) * 1000 + 40;
  return 0;
}
