#include "bench/dryrun/breakdown/cpp/running_node.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

#include <memory>
#include <string_view>
#include <typeinfo>
#include <unordered_map>

#include "bench/dryrun/breakdown/context.h"

namespace headroom {
namespace {

using torch::autograd::Node;

struct Kind {
  uint32_t name = 0;
  bool is_libtorchs = false;
};

// libtorch's namespace, but for the template around a program's own function.
bool is_libtorchs(const std::type_info& type) {
  const std::string_view mangled = type.name();
  return mangled.starts_with("N5torch8autograd") &&
         !mangled.starts_with("N5torch8autograd7CppNode");
}

const Kind& kind_of(const Node& node) {
  thread_local std::unordered_map<const std::type_info*, Kind> kinds;
  const std::type_info& type = typeid(node);
  const auto [found, is_new] = kinds.try_emplace(&type);
  if (is_new) found->second = {number_of(node.name()), is_libtorchs(type)};
  return found->second;
}

bool has_hooks(Node& node) {
  return !node.pre_hooks().empty() || !node.post_hooks().empty() ||
         !node.tensor_pre_hooks().empty() || !node.retains_grad_hooks().empty() ||
         node.tensor_post_acc_grad_hooks() != nullptr;
}

}  // namespace

uint32_t running_node() {
  const std::shared_ptr<Node> node = torch::autograd::get_current_node();
  return node == nullptr ? 0 : kind_of(*node).name;
}

bool is_in_libtorchs_node() {
  if (running_backwards() != 1) return false;
  const std::shared_ptr<Node> node = torch::autograd::get_current_node();
  return node != nullptr && kind_of(*node).is_libtorchs && !has_hooks(*node);
}

}  // namespace headroom
