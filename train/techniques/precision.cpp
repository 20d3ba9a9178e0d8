#include "train/techniques/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/record_function.h>

#include <string_view>
#include <unordered_set>
#include <utility>

#include "train/settings/fp8_rules.h"

namespace headroom {

// Autocast's cache cannot be read, so this watches the operation that fills it. The source is
// looked up when the copy begins, and the copy is tagged when it ends.
class AutocastGuard::CastWatch {
 public:
  using Weights = std::shared_ptr<const std::unordered_set<const void*>>;

  CastWatch(MemoryTags& tags, Weights weights) : tags_(tags), weights_(std::move(weights)) {
    outer_ = std::exchange(current, this);
    if (outer_ != nullptr) return;  // its callback serves this one too
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&started, &ended)
                                             .needsInputs(true)
                                             .needsOutputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  }
  ~CastWatch() {
    current = outer_;
    if (outer_ == nullptr) at::removeCallback(handle_);
  }
  CastWatch(const CastWatch&) = delete;
  CastWatch& operator=(const CastWatch&) = delete;

  static Weights storages_of(const std::vector<torch::Tensor>& weights) {
    auto storages = std::make_shared<std::unordered_set<const void*>>();
    for (const torch::Tensor& weight : weights) storages->insert(storage_of(weight));
    return storages;
  }
  // Stores this thread's tags and weights in `state`.
  static void describe(AutocastState& state) {
    if (current == nullptr) return;
    state.tags = &current->tags_;
    state.weights = current->weights_;
  }

 private:
  // The storage, not its address: a weight's memory may come and go.
  static const void* storage_of(const torch::Tensor& tensor) {
    return tensor.storage().unsafeGetStorageImpl();
  }

  struct CopyOfWeight : at::ObserverContext {};

  static std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& function) {
    if (current == nullptr || std::string_view(function.name()) != "aten::_to_copy") return nullptr;
    const auto inputs = function.inputs();
    if (inputs.empty() || !inputs[0].isTensor()) return nullptr;
    const at::Tensor& source = inputs[0].toTensor();
    if (!source.defined() || !source.has_storage()) return nullptr;
    if (!current->weights_->contains(storage_of(source))) return nullptr;
    return std::make_unique<CopyOfWeight>();
  }
  static void ended(const at::RecordFunction& function, at::ObserverContext* context) {
    if (context == nullptr || current == nullptr || function.outputs().empty()) return;
    const c10::IValue& copy = function.outputs().front();
    if (copy.isTensor()) tag(&current->tags_, Category::kCastCache, copy.toTensor());
  }

  // RecordFunction takes plain function pointers.
  static thread_local CastWatch* current;

  MemoryTags& tags_;
  Weights weights_;
  CastWatch* outer_ = nullptr;
  at::CallbackHandle handle_ = 0;
};

thread_local AutocastGuard::CastWatch* AutocastGuard::CastWatch::current = nullptr;

AutocastGuard::AutocastGuard(Precision precision, torch::DeviceType device, MemoryTags* tags,
                             const std::vector<torch::Tensor>& weights)
    : active_(uses_autocast(precision)), device_(device) {
  if (!active_) return;
  enter(true, precision == Precision::kFp16 ? at::kHalf : at::kBFloat16);
  if (tags != nullptr) {
    watch_ = std::make_unique<CastWatch>(*tags, CastWatch::storages_of(weights));
  }
}

AutocastGuard::AutocastGuard(const AutocastState& state) : active_(true), device_(state.device) {
  enter(state.enabled, state.dtype);
  if (state.tags != nullptr) watch_ = std::make_unique<CastWatch>(*state.tags, state.weights);
}

void AutocastGuard::enter(bool enabled, at::ScalarType dtype) {
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  old_dtype_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, enabled);
  at::autocast::set_autocast_dtype(device_, dtype);
  at::autocast::increment_nesting();
}

AutocastState AutocastState::now(torch::DeviceType device) {
  AutocastState state{.device = device,
                      .enabled = at::autocast::is_autocast_enabled(device),
                      .dtype = at::autocast::get_autocast_dtype(device)};
  AutocastGuard::CastWatch::describe(state);
  return state;
}

AutocastGuard::~AutocastGuard() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, old_dtype_);
}

std::string bf16_weights_note(torch::Device device) {
  if (!device.is_cuda()) return "";
  const auto* properties = at::cuda::getDeviceProperties(device.index());
  if (properties->major >= 8) return "";
  return std::string(properties->name) +
         " has no BF16 arithmetic: the memory of the weights is right, times are not";
}

void check_fp8_device(torch::Device device) {
  if (!device.is_cuda()) return;
  const auto* properties = at::cuda::getDeviceProperties(device.index());
  check_fp8_capability(std::to_string(properties->major) + "." + std::to_string(properties->minor),
                       properties->name);
}

void set_matmul_precision(Precision precision) {
  at::globalContext().setFloat32MatmulPrecision(precision == Precision::kTf32 ? "high" : "highest");
}

Precision supported_precision(Precision wanted, torch::Device device, std::string* note) {
  if (wanted == Precision::kTf32 && !device.is_cuda()) {
    *note = "TF32 is arithmetic of NVIDIA cards; on the CPU the products are FP32";
    return Precision::kFp32;
  }
  if (!device.is_cuda() || (wanted != Precision::kBf16 && wanted != Precision::kTf32))
    return wanted;
  const auto* properties = at::cuda::getDeviceProperties(device.index());
  if (properties->major >= 8) return wanted;
  if (wanted == Precision::kTf32) {
    *note = std::string(properties->name) + " has no TF32; the products are FP32";
    return Precision::kFp32;
  }
  *note = std::string("BF16 is not supported by ") + properties->name + "; FP16 is used instead";
  return Precision::kFp16;
}

}  // namespace headroom
