// A function of libc that this library defines too.
#pragma once

#include <dlfcn.h>

namespace virtual_gpu {

// libc's own function of this name. Call find() before main(): a child of fork must not use the
// loader.
template <typename Result, typename... Arguments>
class LibcFunction {
 public:
  constexpr explicit LibcFunction(const char* name) : name_(name) {}
  void find() { function_ = found(); }
  Result operator()(Arguments... arguments) const {
    return (function_ != nullptr ? function_ : found())(arguments...);
  }

 private:
  using Function = Result (*)(Arguments...);
  Function found() const { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_)); }
  const char* name_;
  Function function_ = nullptr;
};

}  // namespace virtual_gpu
