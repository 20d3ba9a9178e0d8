// Size queries that are forwarded to the real library: Note [Asked without a handle]. Arguments are
// passed on unchanged. Those of the forwarded functions are integers and pointers, which the C
// calling convention passes as words. The longest list's number of words is always passed, and a
// function reads only its own.
#pragma once

#include <cstdint>

#include "virtual_gpu/real_library/real_library.h"
#include "virtual_gpu/report/refusal.h"

namespace virtual_gpu {

using Word = uintptr_t;

// How to query one library, and its status codes.
struct AskedLibrary {
  const char* file;     // "libcusolver"
  void* (*blank)();     // replaces a handle; nullptr: no queries are possible
  int not_initialized;  // no handle was given
  int not_supported;
  int wanted_card;  // its status if it looked for the card; -1: it does not
};

// real: the library's own function; nullptr if missing.
template <typename... Words>
int ask(const AskedLibrary& library, const char* name, void* real, const void* handle,
        Words... words) {
  if (handle == nullptr) return library.not_initialized;
  void* const blank = real == nullptr ? nullptr : library.blank();
  if (blank != nullptr) {
    const int status = reinterpret_cast<int (*)(void*, Words...)>(real)(blank, words...);
    if (status != library.wanted_card) return status;
  }
  say_refused(name);
  return library.not_supported;
}

}  // namespace virtual_gpu

// Besides the handle: 19, for cusparseXcsrgeam2_bufferSizeExt; cusolverDnXgeev_bufferSize has 18.
#define HEADROOM_WORDS                                                                    \
  virtual_gpu::Word a, virtual_gpu::Word b, virtual_gpu::Word c, virtual_gpu::Word d,     \
      virtual_gpu::Word e, virtual_gpu::Word f, virtual_gpu::Word g, virtual_gpu::Word h, \
      virtual_gpu::Word i, virtual_gpu::Word j, virtual_gpu::Word k, virtual_gpu::Word l, \
      virtual_gpu::Word m, virtual_gpu::Word n, virtual_gpu::Word o, virtual_gpu::Word p, \
      virtual_gpu::Word q, virtual_gpu::Word r, virtual_gpu::Word s
#define HEADROOM_SAME a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s

// A function of an AskedLibrary.
#define HEADROOM_ASKED(library, name)                                            \
  extern "C" int name(const void* handle, HEADROOM_WORDS) {                      \
    static void* const real = virtual_gpu::real_function((library).file, #name); \
    return virtual_gpu::ask(library, #name, real, handle, HEADROOM_SAME);        \
  }
