// Known contents (virtual_gpu/device/memory/contents.h) for a library that sees libtorch's
// operations.
#pragma once

#include <cstdint>

namespace virtual_gpu {

// Writes the answer of that size to `to`, if there is one. After a supposed answer the program has
// still read an unknown value.
enum class Answered { kNo, kSupposed, kYes };
Answered take_answer(void* to, uint64_t bytes);

}  // namespace virtual_gpu

extern "C" {

// 1 if all bytes were known; `to` then holds them.
int virtual_gpu_read_contents(uint64_t address, uint64_t bytes, void* to);
int virtual_gpu_knows_contents(uint64_t address, uint64_t bytes);
void virtual_gpu_write_contents(uint64_t address, uint64_t bytes, const void* from);

// Unknown bytes beside known ones there are memory that nothing has written yet.
void virtual_gpu_complete_contents(uint64_t address, uint64_t bytes);

// Raises the limits of known bytes: of one copy or result, and of all.
void virtual_gpu_keep_more(uint64_t at_once, uint64_t in_all);

// libtorch's blocks, when it allocates and frees them.
void virtual_gpu_add_block(uint64_t address, uint64_t bytes);
void virtual_gpu_remove_block(uint64_t address);

// The memory of an operation that begins in this thread; pop when it ends.
struct VirtualGpuOperand {
  uint64_t begin;
  uint64_t end;
  uint64_t is_written;
  uint64_t run;   // for a tensor with gaps: `run` bytes at every `step`
  uint64_t step;  // 0: all bytes
};
void virtual_gpu_push_operands(const VirtualGpuOperand* operands, uint64_t count);
void virtual_gpu_pop_operands();

// Sets the result of this thread's next copy of `bytes` unknown bytes to the host: a size or a
// verdict inside an operation. bytes = 0: none.
void virtual_gpu_answer_next(const void* from, uint64_t bytes);
// The same for every such copy, until the next answer, also one of 0 bytes, replaces it.
void virtual_gpu_answer_all(const void* from, uint64_t bytes);
// The same for copies of 4 and of 8 bytes, in place of zeros, where nobody else answers the read.
void virtual_gpu_suppose_all(int64_t number);
}
