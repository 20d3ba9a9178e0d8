// Note [Asked without a handle]
// Rationale: how large a workspace cuSOLVER or a recurrent network of cuDNN wants is the library's
//   own answer, and no table of ours would be right for long. Their handles cannot be made: the
//   CUDA runtime inside them asks the driver for tables that nothing documents.
// Approach: the functions that answer with a size get a block of memory in place of the handle, all
//   of whose words point into the block; for cuSPARSE it begins with the word that all its objects
//   begin with, which it looks for. Only functions whose answer was seen not to change with what
//   lies in the block are asked so. cuSOLVER's for batches of small Hermitian matrices are those of
//   a real card, figure for figure (cupy#7261); cuDNN's reserve space is the one published for an
//   LSTM and a GRU (pytorch#2895) and 256 bytes. cuSPARSE's were held against none yet.
// Limits: cuFFT's plans need a device: Note [Work areas of cuFFT]; so does cuSOLVER's
//   eigendecomposition of general matrices. Nothing that computes is ever called so.
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

namespace {

constexpr size_t kBlankWords = 32768;

// The middle of a new block of words that all point into it.
void** new_blank() {
  auto* words = new std::array<void*, kBlankWords>();
  std::fill(words->begin(), words->end(), &(*words)[kBlankWords / 2]);
  return &(*words)[kBlankWords / 4];
}

}  // namespace

void* blank_handle() {
  static void** const blank = new_blank();
  return blank;
}

void* blank_handle_that_begins(uintptr_t word) {
  void** blank = new_blank();
  *blank = reinterpret_cast<void*>(word);
  return blank;
}

}  // namespace virtual_gpu
