// Exchange of known contents with the library that knows libtorch's operations
// (bench/dryrun/values/operations.cpp). Neither side includes the other.
#include "virtual_gpu/cudart/memory/contents.h"

#include <cstring>
#include <utility>

#include "virtual_gpu/device/machine.h"

using namespace virtual_gpu;

namespace {

thread_local Bytes answer;
thread_local bool answers_all = false;
thread_local bool is_supposed = false;

}  // namespace

Answered virtual_gpu::take_answer(void* to, uint64_t bytes) {
  const bool is_number = is_supposed && bytes == sizeof(int32_t);
  if (answer.empty() || (answer.size() != bytes && !is_number)) return Answered::kNo;
  std::memcpy(to, answer.data(), bytes);
  if (!answers_all) answer.clear();
  return is_supposed ? Answered::kSupposed : Answered::kYes;
}

extern "C" {

int virtual_gpu_read_contents(uint64_t address, uint64_t bytes, void* to) {
  return Machine::get().contents.read(address, bytes, to) ? 1 : 0;
}

int virtual_gpu_knows_contents(uint64_t address, uint64_t bytes) {
  return Machine::get().contents.is_known(address, bytes) ? 1 : 0;
}

void virtual_gpu_write_contents(uint64_t address, uint64_t bytes, const void* from) {
  Machine& machine = Machine::get();
  // Captured work has not run: it writes later, unobserved.
  if (machine.streams.any_capture()) return machine.contents.forget(address, bytes);
  machine.contents.write(address, from, bytes);
}

void virtual_gpu_complete_contents(uint64_t address, uint64_t bytes) {
  Machine::get().contents.complete(address, bytes);
}

void virtual_gpu_keep_more(uint64_t at_once, uint64_t in_all) {
  Machine::get().contents.keep_more(at_once, in_all);
}

void virtual_gpu_add_block(uint64_t address, uint64_t bytes) {
  Machine::get().contents.add_block(address, bytes);
}

void virtual_gpu_remove_block(uint64_t address) { Machine::get().contents.remove_block(address); }

void virtual_gpu_push_operands(const VirtualGpuOperand* operands, uint64_t count) {
  Operands::begin();
  for (uint64_t i = 0; i < count; ++i) {
    const VirtualGpuOperand& one = operands[i];
    Operands::add({one.begin, one.end, one.is_written != 0, one.run, one.step});
  }
}

void virtual_gpu_pop_operands() { Operands::end(); }

void virtual_gpu_answer_next(const void* from, uint64_t bytes) {
  const auto* first = static_cast<const unsigned char*>(from);
  answer.assign(first, first + bytes);
  answers_all = is_supposed = false;
}

void virtual_gpu_answer_all(const void* from, uint64_t bytes) {
  virtual_gpu_answer_next(from, bytes);
  answers_all = true;
}

void virtual_gpu_suppose_all(int64_t number) {
  virtual_gpu_answer_all(&number, sizeof number);
  is_supposed = true;
}

}  // extern "C"
