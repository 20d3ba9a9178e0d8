// Arguments that are handed on as they are. Those of the functions that are asked here are integers
// and pointers: in the C calling convention they travel as words. As many are handed on as the
// longest list has, and a function looks at those that are its own.
#pragma once

#include <cstdint>

namespace virtual_gpu {

using Word = uintptr_t;

}  // namespace virtual_gpu

// Beside the handle: 19, of cusparseXcsrgeam2_bufferSizeExt; cusolverDnXgeev_bufferSize has 18.
#define HEADROOM_WORDS                                                                    \
  virtual_gpu::Word a, virtual_gpu::Word b, virtual_gpu::Word c, virtual_gpu::Word d,     \
      virtual_gpu::Word e, virtual_gpu::Word f, virtual_gpu::Word g, virtual_gpu::Word h, \
      virtual_gpu::Word i, virtual_gpu::Word j, virtual_gpu::Word k, virtual_gpu::Word l, \
      virtual_gpu::Word m, virtual_gpu::Word n, virtual_gpu::Word o, virtual_gpu::Word p, \
      virtual_gpu::Word q, virtual_gpu::Word r, virtual_gpu::Word s
#define HEADROOM_SAME a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s
