#include "bench/dryrun/breakdown/cpp/owned_tensors.h"

#include <c10/util/Type.h>
#include <torch/optim.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bench/dryrun/breakdown/context.h"
#include "bench/dryrun/breakdown/cpp/cpp_function.h"
#include "bench/dryrun/breakdown/watch.h"

namespace headroom {
namespace {

// Keeps no memory alive.
using WeakTensor = c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;

struct Owned {
  WeakTensor tensor;
  uint32_t owner;
  bool is_buffer;
  size_t depth = 0;  // of the path; 0: a class
  bool has_tag = false;
};
struct AllOwned {
  std::mutex mutex;
  std::vector<Owned> tensors;
  uint64_t registered = 0;
  // By class, the modules from which paths begin; and how much was registered when each was seen.
  std::map<std::string, std::vector<const torch::nn::Module*>> roots;
  std::unordered_map<const torch::nn::Module*, uint64_t> seen;
};
AllOwned& all_owned() {
  static auto* const all = new AllOwned;  // threads may outlive the process's end
  return *all;
}

// "torch::nn::Linear" of a LinearImpl. No spaces: a row's type follows the first.
std::string class_name(const std::type_info& type) {
  std::string name = without_anonymous_namespaces(c10::demangle(type.name()));
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  std::erase(name, ' ');
  return name;
}

// "Net", and "Net#2" of another. Under the mutex.
std::string name_of_root(const torch::nn::Module& root) {
  const std::string name = class_name(typeid(root));
  std::vector<const torch::nn::Module*>& known = all_owned().roots[name];
  const auto found = std::find(known.begin(), known.end(), &root);
  const auto index = found - known.begin();
  if (found == known.end()) known.push_back(&root);
  return index == 0 ? name : name + "#" + std::to_string(index + 1);
}

class Tags {
 public:
  explicit Tags(Category purpose) : purpose_(purpose) {}
  ~Tags() { tag(pairs_.data(), pairs_.size() / 2, purpose_); }
  Tags(const Tags&) = delete;
  Tags& operator=(const Tags&) = delete;
  // False if the tensor has no memory on a card.
  bool add(const at::Tensor& tensor, uint32_t owner) {
    if (!tensor.defined() || !tensor.is_cuda() || !tensor.has_storage()) return false;
    pairs_.push_back(reinterpret_cast<uint64_t>(tensor.storage().data()));
    pairs_.push_back(owner);
    return true;
  }

 private:
  const Category purpose_;
  std::vector<uint64_t> pairs_;
};

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

using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

// "layers.0.up.weight" of "Net" belongs to "Net.layers.0.up". Under the mutex.
void name_tensors(const std::string& root, const NamedTensors& tensors, bool is_buffer) {
  std::unordered_map<const at::TensorImpl*, Owned*> known;
  for (Owned& one : all_owned().tensors) known[one.tensor._unsafe_get_target()] = &one;
  std::vector<Owned> added;
  for (const auto& item : tensors) {
    if (!item.value().defined()) continue;
    const std::string& path = item.key();
    const auto depth = static_cast<size_t>(1 + std::count(path.begin(), path.end(), '.'));
    const size_t end = path.rfind('.');
    const uint32_t owner =
        number_of(end == std::string::npos ? root : root + "." + path.substr(0, end));
    const auto found = known.find(item.value().unsafeGetTensorImpl());
    if (found == known.end()) {
      added.push_back({WeakTensor(item.value().getIntrusivePtr()), owner, is_buffer, depth});
    } else if (depth > found->second->depth && !found->second->has_tag) {
      found->second->owner = owner;
      found->second->depth = depth;
    }
  }
  for (Owned& one : added) all_owned().tensors.push_back(std::move(one));
}

}  // namespace

uint32_t number_of_optimizer(const torch::optim::Optimizer& optimizer) {
  return number_of(class_name(typeid(optimizer)) + " (optimizer)");
}

void register_tensor(const torch::nn::Module& module, const at::Tensor& tensor, bool is_buffer) {
  if (!tensor.defined()) return;
  const uint32_t owner = number_of(class_name(typeid(module)));
  const std::scoped_lock lock(all_owned().mutex);
  ++all_owned().registered;
  all_owned().tensors.push_back({WeakTensor(tensor.getIntrusivePtr()), owner, is_buffer});
}

void name_tensors_below(const torch::nn::Module& root) {
  {
    const std::scoped_lock lock(all_owned().mutex);
    uint64_t& seen = all_owned().seen[&root];
    if (seen == all_owned().registered) return;
    seen = all_owned().registered;
  }
  const NamedTensors parameters = root.named_parameters();
  const NamedTensors buffers = root.named_buffers();
  if (parameters.is_empty() && buffers.is_empty()) return;
  const std::scoped_lock lock(all_owned().mutex);
  const std::string name = name_of_root(root);
  name_tensors(name, parameters, /*is_buffer=*/false);
  name_tensors(name, buffers, /*is_buffer=*/true);
}

void tag_owned() {
  Tags parameters(Category::kParameters);
  Tags buffers(Category::kBuffers);
  Tags gradients(Category::kGradients);
  const std::scoped_lock lock(all_owned().mutex);
  std::erase_if(all_owned().tensors, [](const Owned& one) { return one.tensor.expired(); });
  for (Owned& one : all_owned().tensors) {
    auto held = one.tensor.lock();
    if (!held.defined()) continue;
    const at::Tensor tensor(std::move(held));
    if ((one.is_buffer ? buffers : parameters).add(tensor, one.owner)) one.has_tag = true;
    if (tensor.is_leaf() && tensor.requires_grad()) gradients.add(tensor.grad(), one.owner);
  }
}

void tag_parameters_of(const torch::optim::Optimizer& optimizer) {
  const uint32_t owner = number_of_optimizer(optimizer);
  Tags parameters(Category::kParameters);
  Tags gradients(Category::kGradients);
  const std::scoped_lock lock(all_owned().mutex);
  std::unordered_set<const at::TensorImpl*> of_modules;
  for (const Owned& one : all_owned().tensors) of_modules.insert(one.tensor._unsafe_get_target());
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (of_modules.contains(parameter.unsafeGetTensorImpl())) continue;
      parameters.add(parameter, owner);
      gradients.add(parameter.grad(), owner);
    }
  }
}

void tag_states_of(torch::optim::Optimizer& optimizer) {
  const uint32_t owner = number_of_optimizer(optimizer);
  Tags states(Category::kOptimizerState);
  for (auto& [key, state] : optimizer.state()) {
    for (const at::Tensor& tensor : tensors_of(*state)) states.add(tensor, owner);
  }
}

}  // namespace headroom
