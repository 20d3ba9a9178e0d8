// The stand-in's functions about known contents (virtual_gpu/cudart/memory/contents.h), found by
// name: a program without the stand-in has none.
#pragma once

#include <dlfcn.h>

#include <cstdint>

namespace headroom {

// Same layout as VirtualGpuOperand there.
struct OperandSpan {
  uint64_t begin;
  uint64_t end;
  uint64_t is_written;
  uint64_t run;
  uint64_t step;
};

struct StandIn {
  int (*read)(uint64_t, uint64_t, void*) = nullptr;
  int (*knows)(uint64_t, uint64_t) = nullptr;
  void (*write)(uint64_t, uint64_t, const void*) = nullptr;
  void (*complete)(uint64_t, uint64_t) = nullptr;
  void (*keep_more)(uint64_t, uint64_t) = nullptr;
  void (*add_block)(uint64_t, uint64_t) = nullptr;
  void (*remove_block)(uint64_t) = nullptr;
  void (*push_operands)(const OperandSpan*, uint64_t) = nullptr;
  void (*pop_operands)() = nullptr;
  void (*answer_next)(const void*, uint64_t) = nullptr;
  void (*answer_all)(const void*, uint64_t) = nullptr;
  void (*suppose_all)(int64_t) = nullptr;

  bool is_whole() const {
    return read != nullptr && knows != nullptr && write != nullptr && keep_more != nullptr &&
           add_block != nullptr && complete != nullptr && remove_block != nullptr &&
           push_operands != nullptr && pop_operands != nullptr && answer_next != nullptr &&
           answer_all != nullptr && suppose_all != nullptr;
  }
};

template <typename Function>
void find_in_stand_in(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

inline const StandIn& stand_in() {
  static const StandIn functions = [] {
    StandIn found;
    find_in_stand_in(found.read, "virtual_gpu_read_contents");
    find_in_stand_in(found.knows, "virtual_gpu_knows_contents");
    find_in_stand_in(found.write, "virtual_gpu_write_contents");
    find_in_stand_in(found.complete, "virtual_gpu_complete_contents");
    find_in_stand_in(found.keep_more, "virtual_gpu_keep_more");
    find_in_stand_in(found.add_block, "virtual_gpu_add_block");
    find_in_stand_in(found.remove_block, "virtual_gpu_remove_block");
    find_in_stand_in(found.push_operands, "virtual_gpu_push_operands");
    find_in_stand_in(found.pop_operands, "virtual_gpu_pop_operands");
    find_in_stand_in(found.answer_next, "virtual_gpu_answer_next");
    find_in_stand_in(found.answer_all, "virtual_gpu_answer_all");
    find_in_stand_in(found.suppose_all, "virtual_gpu_suppose_all");
    return found;
  }();
  return functions;
}

}  // namespace headroom
