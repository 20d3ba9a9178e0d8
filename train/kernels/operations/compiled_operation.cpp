#include "train/kernels/operations/compiled_operation.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "train/kernels/operations/operation_settings.h"
#include "train/kernels/region_settings.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr int64_t kMost = int64_t{1} << 30;  // elements: kernels may index by 32 bits

bool are_taken(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.is_contiguous() && is_aligned(tensor);
  });
}

// One copy of each library on each device, as long as somebody holds it.
OperationPtr loaded(const nlohmann::json& settings, torch::Device device) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const CompiledOperation>> known;
  const std::scoped_lock lock(mutex);
  auto& entry = known[settings.dump() + " " + device.str()];
  OperationPtr operation = entry.lock();
  if (!operation) {
    operation = std::make_shared<const CompiledOperation>(region_folder(settings), device);
    entry = operation;
  }
  return operation;
}

}  // namespace

CompiledOperation::CompiledOperation(const std::string& folder, torch::Device device)
    : library_(folder + "/operation.so", device) {}

bool CompiledOperation::run(const std::vector<Tensor>& tensors,
                            std::initializer_list<double> numbers) const {
  constexpr int64_t kFewest = 2;  // rows
  const Tensor& first = tensors.front();
  if (first.size(0) < kFewest || first.numel() > kMost || !are_taken(tensors)) return false;
  std::vector<Tensor> inputs;
  inputs.reserve(tensors.size() + numbers.size());
  for (const Tensor& tensor : tensors) inputs.push_back(tensor.detach());
  for (const double number : numbers)
    inputs.push_back(torch::scalar_tensor(number, torch::kDouble));
  library_.run(std::move(inputs));
  return true;
}

bool CompiledOperation::run_flat(const std::vector<Tensor>& tensors,
                                 std::initializer_list<double> numbers) const {
  constexpr int64_t kLine = 64;  // elements: every part begins aligned
  const int64_t elements = tensors.front().numel();
  if (elements < 2 || !are_taken(tensors)) return false;
  const int64_t parts_of_it = (elements + kMost - 1) / kMost;
  const int64_t length = (elements / parts_of_it / kLine + 1) * kLine;
  for (int64_t begin = 0; begin < elements; begin += length) {
    std::vector<Tensor> parts;
    for (const Tensor& tensor : tensors) {
      const Tensor flat = tensor.detach().view({-1});
      parts.push_back(flat.narrow(0, begin, std::min(length, elements - begin)));
    }
    const bool is_run = run(parts, numbers);
    TORCH_CHECK(is_run, "a compiled operation took one part of a tensor and not the next");
  }
  return true;
}

OperationPtr compiled_operation(const RunSpec& spec, const std::string& name, torch::Device device,
                                const std::string& number_type) {
  for (const nlohmann::json& settings : operation_settings(spec)) {
    if (settings.at("operation") != name || settings.value("number_type", "") != number_type) {
      continue;
    }
    if (settings.at("device") != (device.is_cuda() ? "cuda" : "cpu")) return nullptr;
    return loaded(settings, device);
  }
  return nullptr;
}

}  // namespace headroom
