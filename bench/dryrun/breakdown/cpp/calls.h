// The calls of a C++ program that libheadroom_blocks.so hands on; see Note [C++ programs].
#pragma once

namespace headroom {

// The arguments are libtorch's: a torch::nn::Module, an at::Tensor, a torch::optim::Optimizer.
struct OnCalls {
  void (*registered)(void* module, const void* tensor, bool is_buffer) = nullptr;
  void (*module_seen)(const void* module) = nullptr;  // with all its parts, or as a part
  void (*backward_begins)() = nullptr;
  void (*backward_ends)() = nullptr;
  void (*step_begins)(void* optimizer) = nullptr;
  void (*step_ends)(void* optimizer) = nullptr;
  // At the process's end, as JSON: the breakdown; the fields of a snapshot, which it writes.
  const char* (*report)() = nullptr;
  const char* (*snapshot)() = nullptr;
};

// Loads the listener of a C++ program, once.
void begin_to_listen();

}  // namespace headroom
