// Known contents (virtual_gpu/device/contents.h) for a library that sees libtorch's operations.
#pragma once

#include <cstdint>

namespace virtual_gpu {

// Whether there was such an answer; then it is in `to`.
bool take_answer(void* to, uint64_t bytes);

}  // namespace virtual_gpu

extern "C" {

// 1 when all of it was known, and is in `to`.
int virtual_gpu_read_contents(uint64_t address, uint64_t bytes, void* to);
int virtual_gpu_knows_contents(uint64_t address, uint64_t bytes);
void virtual_gpu_write_contents(uint64_t address, uint64_t bytes, const void* from);

// What is unknown beside something known there is memory that nobody wrote yet.
void virtual_gpu_complete_contents(uint64_t address, uint64_t bytes);

// libtorch's blocks, as it gives them out and takes them back.
void virtual_gpu_add_block(uint64_t address, uint64_t bytes);
void virtual_gpu_remove_block(uint64_t address);

// The memory of an operation that begins in this thread, and its end.
struct VirtualGpuOperand {
  uint64_t begin;
  uint64_t end;
  uint64_t is_written;
  uint64_t run;   // of a tensor with gaps: its `run` bytes at every `step`
  uint64_t step;  // 0: all bytes
};
void virtual_gpu_push_operands(const VirtualGpuOperand* operands, uint64_t count);
void virtual_gpu_pop_operands();

// What the next copy of so many unknown bytes to the host by this thread reads: a size or a verdict
// that an operation makes inside. bytes = 0: nothing any more.
void virtual_gpu_answer_next(const void* from, uint64_t bytes);
// The same of every such copy, until an answer to the next one, of 0 bytes too, takes its place.
void virtual_gpu_answer_all(const void* from, uint64_t bytes);
}
