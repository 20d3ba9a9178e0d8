#include "virtual_gpu/device/call_stack.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <memory>

namespace virtual_gpu {
namespace {

std::string demangled(const char* name) {
  if (name == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

CallStack call_stack() {
  CallStack stack;
  stack.size = backtrace(stack.addresses.data(), static_cast<int>(stack.addresses.size()));
  return stack;
}

std::vector<Frame> named(const CallStack& stack) {
  Dl_info ours;
  dladdr(reinterpret_cast<void*>(&call_stack), &ours);
  std::vector<Frame> frames;
  for (int i = 0; i < stack.size; ++i) {
    // A return address is behind its call, maybe in the next line or function.
    const auto address = reinterpret_cast<uint64_t>(stack.addresses[static_cast<size_t>(i)]) - 1;
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(address), &info) == 0) continue;
    if (info.dli_fbase == ours.dli_fbase) continue;
    frames.push_back({info.dli_fname, address - reinterpret_cast<uint64_t>(info.dli_fbase),
                      demangled(info.dli_sname)});
  }
  return frames;
}

}  // namespace virtual_gpu
