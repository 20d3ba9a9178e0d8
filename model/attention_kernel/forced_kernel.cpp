#include "model/attention_kernel/forced_kernel.h"

#include <ATen/record_function.h>

#include <string>
#include <string_view>
#include <vector>

namespace headroom {
namespace {

// libtorch's names for a kernel.
struct Kernel {
  Attention attention;
  const char* word;       // value of --attention
  const char* operation;  // prefix of the operations that compute it
  const char* title;      // prefix of the title above its reasons in the warnings
};
constexpr Kernel kKernels[] = {
    {Attention::kMath, "math", "aten::_scaled_dot_product_attention_math", "Math"},
    {Attention::kFlash, "flash", "aten::_scaled_dot_product_flash_attention", "Flash"},
    {Attention::kEfficient, "efficient", "aten::_scaled_dot_product_efficient_attention",
     "Memory efficient"},
    {Attention::kCudnn, "cudnn", "aten::_scaled_dot_product_cudnn_attention", "cuDNN"},
};

const Kernel& named(Attention attention) {
  for (const Kernel& kernel : kKernels) {
    if (kernel.attention == attention) return kernel;
  }
  TORCH_INTERNAL_ASSERT(false, "no kernel of scaled_dot_product_attention");
}

// The kernels that libtorch may choose from. "Overrideable" is for other devices; if libtorch comes
// to it on a card, it fails ("Invalid backend") without a reason.
struct Allowed {
  bool math, flash, efficient, cudnn, overrideable;
};

Allowed allowed_now() {
  const at::Context& settings = at::globalContext();
  return {settings.userEnabledMathSDP(), settings.userEnabledFlashSDP(),
          settings.userEnabledMemEfficientSDP(), settings.userEnabledCuDNNSDP(),
          settings.userEnabledOverrideableSDP()};
}

void allow(const Allowed& allowed) {
  at::Context& settings = at::globalContext();
  settings.setSDPUseMath(allowed.math);
  settings.setSDPUseFlash(allowed.flash);
  settings.setSDPUseMemEfficient(allowed.efficient);
  settings.setSDPUseCuDNN(allowed.cudnn);
  settings.setSDPUseOverrideable(allowed.overrideable);
}

class OnlyKernel {
 public:
  explicit OnlyKernel(Attention kernel) : before_(allowed_now()) {
    allow({kernel == Attention::kMath, kernel == Attention::kFlash, kernel == Attention::kEfficient,
           kernel == Attention::kCudnn, /*overrideable=*/false});
  }
  ~OnlyKernel() { allow(before_); }
  OnlyKernel(const OnlyKernel&) = delete;
  OnlyKernel& operator=(const OnlyKernel&) = delete;

 private:
  Allowed before_;
};

// Keeps libtorch's warnings on this thread.
class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts_.push_back(warning.msg()); }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

// The last fused operation that this thread dispatched while the object was alive.
class SeenOperation {
 public:
  SeenOperation() {
    seen_.clear();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&note).scopes({at::RecordScope::FUNCTION}));
  }
  ~SeenOperation() { at::removeCallback(handle_); }
  SeenOperation(const SeenOperation&) = delete;
  SeenOperation& operator=(const SeenOperation&) = delete;
  const std::string& name() const { return seen_; }

 private:
  static std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& operation) {
    const std::string_view name = operation.name();
    if (name.starts_with("aten::_scaled_dot_product_")) seen_ = name;
    return nullptr;
  }
  static thread_local std::string seen_;
  at::CallbackHandle handle_;
};
thread_local std::string SeenOperation::seen_;

// libtorch warns about every kernel in turn, each under its own title.
std::string reason_among(const std::vector<std::string>& warnings, const Kernel& kernel) {
  constexpr std::string_view kTitleEnd = "not used because:";
  std::string reasons;
  bool is_its = false;
  for (const std::string& text : warnings) {
    if (text.ends_with(kTitleEnd)) {
      is_its = text.starts_with(kernel.title);
    } else if (is_its) {
      reasons += (reasons.empty() ? "" : "; ") + text;
    }
  }
  return reasons;
}

// True if libtorch found no kernel; false for other errors (out of memory, a failed operation).
bool says_no_kernel(const std::string& error) {
  return error.starts_with("No available kernel") || error.starts_with("No viable backend");
}

[[noreturn]] void refuse(const Kernel& kernel, std::string why) {
  while (!why.empty() && isspace(static_cast<unsigned char>(why.back())) != 0) why.pop_back();
  throw UnsupportedAttention("--attention " + std::string(kernel.word) +
                             " does not run here: " + why);
}

}  // namespace

torch::Tensor with_kernel(Attention attention, const std::function<torch::Tensor()>& attend) {
  const Kernel& kernel = named(attention);
  Warnings warnings;
  const SeenOperation seen;
  torch::Tensor result;
  try {
    const OnlyKernel only(attention);
    const c10::WarningUtils::WarningHandlerGuard listening(&warnings);
    result = attend();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (!says_no_kernel(text)) throw;
    const std::string reason = reason_among(warnings.texts(), kernel);
    refuse(kernel, reason.empty() ? "libtorch has none for this device, type and shape" : reason);
  }
  if (!seen.name().starts_with(kernel.operation)) {
    refuse(kernel, "libtorch ran " + (seen.name().empty() ? "none of its kernels" : seen.name()));
  }
  for (const std::string& text : warnings.texts()) TORCH_WARN(text);
  return result;
}

}  // namespace headroom
