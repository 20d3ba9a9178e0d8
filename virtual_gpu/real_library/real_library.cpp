// Note [Asked without a handle]
// Rationale: how large a workspace cuSOLVER or a recurrent network of cuDNN wants is the library's
//   own answer, and no table of ours would be right for long. Their handles cannot be made: the
//   CUDA runtime inside them asks the driver for tables that nothing documents.
// Approach: the functions that answer with a size get a block of memory in place of the handle, all
//   of whose words point into the block. Only functions whose answer was seen not to change with
//   what lies in the block are asked so. cuSOLVER's for batches of small Hermitian matrices are
//   those of a real card, figure for figure (cupy#7261); cuDNN's reserve space is the one published
//   for an LSTM and a GRU (pytorch#2895) and 256 bytes.
// Limits: cuSPARSE looks whether its handle is one, so it is refused (report/refusal.cpp). cuFFT's
//   plans need a device: Note [Work areas of cuFFT]. Nothing that computes is ever called so.
#include "virtual_gpu/real_library/real_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace virtual_gpu {

// Whoever calls a library was linked with it or opened it: it is in the process already.
void* real_function(const char* library, const char* name) {
  void* opened = dlopen(library, RTLD_NOW);
  return opened == nullptr ? nullptr : dlsym(opened, name);
}

void* blank_handle() {
  constexpr size_t kWords = 32768;
  static auto* block = [] {
    auto* words = new std::array<void*, kWords>();
    std::fill(words->begin(), words->end(), &(*words)[kWords / 2]);
    return words;
  }();
  return &(*block)[kWords / 4];
}

}  // namespace virtual_gpu
