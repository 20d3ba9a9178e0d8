// A part of libheadroom_breakdown.so: the owners of memory in a C++ program. See Note [C++
// programs] in bench/dryrun/breakdown/calls.cpp.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Type.h>
#include <torch/nn/module.h>
#include <torch/optim.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <typeinfo>
#include <unordered_set>
#include <vector>

#include "bench/dryrun/breakdown/calls.h"
#include "bench/dryrun/breakdown/context.h"
#include "bench/dryrun/breakdown/rows_json.h"
#include "bench/dryrun/breakdown/watch.h"

namespace headroom {
namespace {

// Keeps no memory alive.
using WeakTensor = c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;

struct Owned {
  WeakTensor tensor;
  uint32_t owner;
  bool is_buffer;
};
struct AllOwned {
  std::mutex mutex;
  std::vector<Owned> tensors;
};
AllOwned& all_owned() {
  static auto* const all = new AllOwned;  // threads may outlive the process's end
  return *all;
}

// "torch::nn::Linear" of a LinearImpl; during its construction, of the class that registers.
uint32_t number_of_class(const std::type_info& type, const char* suffix) {
  std::string name = c10::demangle(type.name());
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  return number_of(name + suffix);
}

class Tags {
 public:
  explicit Tags(Category purpose) : purpose_(purpose) {}
  ~Tags() { tag(pairs_.data(), pairs_.size() / 2, purpose_); }
  Tags(const Tags&) = delete;
  Tags& operator=(const Tags&) = delete;
  void add(const at::Tensor& tensor, uint32_t owner) {
    if (!tensor.defined() || !tensor.is_cuda() || !tensor.has_storage()) return;
    pairs_.push_back(reinterpret_cast<uint64_t>(tensor.storage().data()));
    pairs_.push_back(owner);
  }

 private:
  const Category purpose_;
  std::vector<uint64_t> pairs_;
};

void tag_owned() {
  Tags parameters(Category::kParameters);
  Tags buffers(Category::kBuffers);
  Tags gradients(Category::kGradients);
  const std::scoped_lock lock(all_owned().mutex);
  std::erase_if(all_owned().tensors, [](const Owned& one) { return one.tensor.expired(); });
  for (const Owned& one : all_owned().tensors) {
    auto held = one.tensor.lock();
    if (!held.defined()) continue;
    const at::Tensor tensor(std::move(held));
    (one.is_buffer ? buffers : parameters).add(tensor, one.owner);
    if (tensor.is_leaf() && tensor.requires_grad()) gradients.add(tensor.grad(), one.owner);
  }
}

void registered(void* module, const void* tensor, bool is_buffer) {
  const auto& value = *static_cast<const at::Tensor*>(tensor);
  if (!value.defined()) return;
  const uint32_t owner = number_of_class(typeid(*static_cast<torch::nn::Module*>(module)), "");
  const std::scoped_lock lock(all_owned().mutex);
  all_owned().tensors.push_back({WeakTensor(value.getIntrusivePtr()), owner, is_buffer});
}

void backward_begins() {
  tag_owned();
  begin_backward(0);
}

void backward_ends() {
  tag_owned();
  end_backward();
}

// The tensors of libtorch's own optimizers; the classes have no common way to them.
std::vector<at::Tensor> tensors_of(torch::optim::OptimizerParamState& state) {
  using namespace torch::optim;
  if (auto* one = dynamic_cast<AdamWParamState*>(&state))
    return {one->exp_avg(), one->exp_avg_sq(), one->max_exp_avg_sq()};
  if (auto* one = dynamic_cast<AdamParamState*>(&state))
    return {one->exp_avg(), one->exp_avg_sq(), one->max_exp_avg_sq()};
  if (auto* one = dynamic_cast<SGDParamState*>(&state)) return {one->momentum_buffer()};
  if (auto* one = dynamic_cast<AdagradParamState*>(&state)) return {one->sum()};
  if (auto* one = dynamic_cast<RMSpropParamState*>(&state))
    return {one->square_avg(), one->momentum_buffer(), one->grad_avg()};
  return {};
}

void step_begins(void* optimizer) {
  tag_owned();
  const auto& own = *static_cast<torch::optim::Optimizer*>(optimizer);
  const uint32_t owner = number_of_class(typeid(own), " (optimizer)");
  {
    // A parameter belongs to its first owner: a module, or else its optimizer.
    Tags parameters(Category::kParameters);
    Tags gradients(Category::kGradients);
    const std::scoped_lock lock(all_owned().mutex);
    std::unordered_set<const at::TensorImpl*> of_modules;
    for (const Owned& one : all_owned().tensors) of_modules.insert(one.tensor._unsafe_get_target());
    for (const auto& group : own.param_groups()) {
      for (const at::Tensor& parameter : group.params()) {
        if (of_modules.count(parameter.unsafeGetTensorImpl()) > 0) continue;
        parameters.add(parameter, owner);
        gradients.add(parameter.grad(), owner);
      }
    }
  }
  begin_optimizer();
}

void step_ends(void* optimizer) {
  auto& own = *static_cast<torch::optim::Optimizer*>(optimizer);
  const uint32_t owner = number_of_class(typeid(own), " (optimizer)");
  {
    Tags states(Category::kOptimizerState);
    for (auto& [key, state] : own.state()) {
      for (const at::Tensor& tensor : tensors_of(*state)) states.add(tensor, owner);
    }
  }
  end_step_of(owner);
}

// Each time that memory ran out, as in virtual_gpu/python_hook/headroom_breakdown.py; the last few.
std::vector<std::string>& refusals() {
  static auto* const all = new std::vector<std::string>;
  return *all;
}

// How the free memory of the allocator is split.
nlohmann::json free_memory(int device) {
  int64_t sum = 0, largest = 0, segments = 0;
  for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot().segments) {
    if (segment.device != device) continue;
    bool has_hole = false;
    for (const auto& block : segment.blocks) {
      if (block.allocated || block.active) continue;
      has_hole = true;
      sum += static_cast<int64_t>(block.size);
      largest = std::max(largest, static_cast<int64_t>(block.size));
    }
    segments += has_hole && segment.allocated_size > 0 ? 1 : 0;
  }
  return {{"free_bytes_in_segments", sum},
          {"largest_free_block_bytes", largest},
          {"segments_with_holes", segments}};
}

void memory_ran_out(int device, int64_t wanted) {
  constexpr size_t kMost = 8;
  tag_owned();
  const LiveMemory live = live_memory(device);
  nlohmann::json refusal = instant_json(live.instant);
  refusal.update({{"ordinal", device},
                  {"wanted_bytes", wanted},
                  {"where", live.operation.empty() ? "no operation" : live.operation}});
  refusal.update(free_memory(device));
  const std::scoped_lock lock(all_owned().mutex);
  if (refusals().size() == kMost) refusals().erase(refusals().begin());
  refusals().push_back(refusal.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

const char* report() {
  tag_owned();
  static auto* const text = new std::string;
  *text = R"({"reason":"","devices":)" + finished_ledgers() + R"(,"out_of_memory":[)";
  const std::scoped_lock lock(all_owned().mutex);
  for (const std::string& refusal : refusals())
    *text += (&refusal == refusals().data() ? "" : ",") + refusal;
  *text += "]}";
  return text->c_str();
}

}  // namespace
}  // namespace headroom

// Sets the functions that libheadroom_blocks.so calls.
extern "C" void headroom_hear_calls(headroom::OnCalls* calls) {
  using namespace headroom;
  if (!hear_blocks(memory_ran_out)) return;
  *calls = {.registered = registered,
            .backward_begins = backward_begins,
            .backward_ends = backward_ends,
            .step_begins = step_begins,
            .step_ends = step_ends,
            .report = report};
}
