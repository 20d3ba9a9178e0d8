// A part of libheadroom_blocks.so: what a C++ program does with modules, backward and optimizers.
//
// Note [C++ programs]
// Rationale: a Python program tells of its modules and steps by hooks of torch. libtorch has none
//   in C++.
// Approach: the functions by which a C++ program registers parameters, asks for them, moves a
//   module, runs backward and steps are libtorch's own and exported. Ours come first, tell a
//   listener and call the real ones. They take pointers in place of libtorch's classes, as the
//   calling convention passes them, because this library is also loaded into programs without
//   libtorch. The listener is libheadroom_breakdown.so for the program's libtorch, loaded at the
//   first of these calls or at the first block.
// Limits: a module in C++ does not say when its forward runs, so the rest has no use. Optimizers
//   that are not libtorch's are known where the program names them (program_names.h). In Python
//   the start-up hook tells all of this.
#include "bench/dryrun/breakdown/cpp/calls.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/dryrun/loaded_symbol.h"

namespace {

using headroom::OnCalls;

// lib/torch-2.11/libheadroom_breakdown.so beside this library; "" without such a libtorch.
std::string listener_path() {
  const std::string version = headroom::libtorch_version();
  Dl_info own;
  if (version.empty() || dladdr(reinterpret_cast<void*>(&listener_path), &own) == 0) return "";
  const std::string path = own.dli_fname;
  return path.substr(0, path.rfind('/')) + "/torch-" + version.substr(0, version.rfind('.')) +
         "/libheadroom_breakdown.so";
}

bool lacks_library = false;  // for this libtorch

// Empty in a Python program, and without a library for this libtorch.
const OnCalls& listener() {
  static const OnCalls calls = [] {
    OnCalls found;
    if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return found;
    void* const library = dlopen(listener_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    lacks_library = library == nullptr;
    if (lacks_library) return found;
    auto* const start = reinterpret_cast<void (*)(OnCalls*)>(dlsym(library, "headroom_hear_calls"));
    if (start != nullptr) start(&found);
    return found;
  }();
  return calls;
}

template <typename F>
F* next_call(const char* name) {
  return headroom::loaded_symbol<F>(RTLD_NEXT, "/libtorch_cpu.so", name);
}

using Step = void*(void* result, void* optimizer, void* closure);

void* step(Step* next, void* result, void* optimizer, void* closure) {
  const OnCalls& calls = listener();
  if (calls.step_begins != nullptr) calls.step_begins(optimizer);
  void* const returned = next(result, optimizer, closure);
  if (calls.step_ends != nullptr) calls.step_ends(optimizer);
  return returned;
}

// The outermost of these calls on a thread is of a whole module, those within it of its parts.
thread_local int module_calls = 0;
class ModuleCall {
 public:
  explicit ModuleCall(const void* module) {
    if (module_calls++ == 0 && listener().module_seen != nullptr) listener().module_seen(module);
  }
  ~ModuleCall() { --module_calls; }
  ModuleCall(const ModuleCall&) = delete;
  ModuleCall& operator=(const ModuleCall&) = delete;
};

}  // namespace

void headroom::begin_to_listen() { listener(); }

#define HEADROOM_EXPORT extern "C" __attribute__((visibility("default")))

HEADROOM_EXPORT const char* headroom_program_breakdown() {
  return listener().report == nullptr ? nullptr : listener().report();
}
HEADROOM_EXPORT const char* headroom_program_snapshot() {
  if (listener().snapshot != nullptr) return listener().snapshot();
  if (!lacks_library) return nullptr;
  return R"({"snapshot_error":"there is no library for its libtorch: scripts/torch_libraries.sh builds it"})";
}

#define HEADROOM_STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define HEADROOM_PARAMETER \
  "_ZN5torch2nn6Module18register_parameterE" HEADROOM_STRING "N2at6TensorEb"
#define HEADROOM_BUFFER "_ZN5torch2nn6Module15register_bufferE" HEADROOM_STRING "N2at6TensorE"
#define HEADROOM_EXECUTE                                                                     \
  "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_" \
  "EEbbbS7_"

HEADROOM_EXPORT void* headroom_register_parameter(void* module, void* name, void* tensor,
                                                  bool has_gradient) asm(HEADROOM_PARAMETER);
void* headroom_register_parameter(void* module, void* name, void* tensor, bool has_gradient) {
  static auto* const next = next_call<void*(void*, void*, void*, bool)>(HEADROOM_PARAMETER);
  void* const registered = next(module, name, tensor, has_gradient);
  if (listener().registered != nullptr) listener().registered(module, registered, false);
  return registered;
}

HEADROOM_EXPORT void* headroom_register_buffer(void* module, void* name,
                                               void* tensor) asm(HEADROOM_BUFFER);
void* headroom_register_buffer(void* module, void* name, void* tensor) {
  static auto* const next = next_call<void*(void*, void*, void*)>(HEADROOM_BUFFER);
  void* const registered = next(module, name, tensor);
  if (listener().registered != nullptr) listener().registered(module, registered, true);
  return registered;
}

#define HEADROOM_PARAMETERS "_ZNK5torch2nn6Module16named_parametersB5cxx11Eb"
#define HEADROOM_TRAIN "_ZN5torch2nn6Module5trainEb"
#define HEADROOM_TO_DEVICE "_ZN5torch2nn6Module2toEN3c106DeviceEb"
#define HEADROOM_TO_BOTH "_ZN5torch2nn6Module2toEN3c106DeviceENS2_10ScalarTypeEb"

HEADROOM_EXPORT void* headroom_named_parameters(void* result, const void* module,
                                                bool recurses) asm(HEADROOM_PARAMETERS);
void* headroom_named_parameters(void* result, const void* module, bool recurses) {
  static auto* const next = next_call<void*(void*, const void*, bool)>(HEADROOM_PARAMETERS);
  const ModuleCall call(module);
  return next(result, module, recurses);
}

HEADROOM_EXPORT void headroom_train(void* module, bool on) asm(HEADROOM_TRAIN);
void headroom_train(void* module, bool on) {
  static auto* const next = next_call<void(void*, bool)>(HEADROOM_TRAIN);
  const ModuleCall call(module);
  next(module, on);
}

// A c10::Device is two bytes, passed in a register; a c10::ScalarType is one.
HEADROOM_EXPORT void headroom_to_device(void* module, uint16_t device,
                                        bool non_blocking) asm(HEADROOM_TO_DEVICE);
void headroom_to_device(void* module, uint16_t device, bool non_blocking) {
  static auto* const next = next_call<void(void*, uint16_t, bool)>(HEADROOM_TO_DEVICE);
  const ModuleCall call(module);
  next(module, device, non_blocking);
}

HEADROOM_EXPORT void headroom_to_both(void* module, uint16_t device, int8_t type,
                                      bool non_blocking) asm(HEADROOM_TO_BOTH);
void headroom_to_both(void* module, uint16_t device, int8_t type, bool non_blocking) {
  static auto* const next = next_call<void(void*, uint16_t, int8_t, bool)>(HEADROOM_TO_BOTH);
  const ModuleCall call(module);
  next(module, device, type, non_blocking);
}

HEADROOM_EXPORT void* headroom_execute(void* result, void* engine, const void* roots,
                                       const void* inputs, bool keeps, bool creates,
                                       bool accumulates, const void* outputs) asm(HEADROOM_EXECUTE);
void* headroom_execute(void* result, void* engine, const void* roots, const void* inputs,
                       bool keeps, bool creates, bool accumulates, const void* outputs) {
  using Execute = void*(void*, void*, const void*, const void*, bool, bool, bool, const void*);
  static auto* const next = next_call<Execute>(HEADROOM_EXECUTE);
  struct Backward {
    Backward() {
      if (listener().backward_begins != nullptr) listener().backward_begins();
    }
    ~Backward() {
      if (listener().backward_ends != nullptr) listener().backward_ends();
    }
  } const running;
  return next(result, engine, roots, inputs, keeps, creates, accumulates, outputs);
}

#define HEADROOM_STEP(function, part)                                                 \
  HEADROOM_EXPORT void* function(void* result, void* optimizer, void* closure) asm(   \
      "_ZN5torch5optim" part "4stepESt8functionIFN2at6TensorEvEE");                   \
  void* function(void* result, void* optimizer, void* closure) {                      \
    static auto* const next =                                                         \
        next_call<Step>("_ZN5torch5optim" part "4stepESt8functionIFN2at6TensorEvEE"); \
    return step(next, result, optimizer, closure);                                    \
  }

HEADROOM_STEP(headroom_step_sgd, "3SGD")
HEADROOM_STEP(headroom_step_adam, "4Adam")
HEADROOM_STEP(headroom_step_adamw, "5AdamW")
HEADROOM_STEP(headroom_step_lbfgs, "5LBFGS")
HEADROOM_STEP(headroom_step_adagrad, "7Adagrad")
HEADROOM_STEP(headroom_step_rmsprop, "7RMSprop")
