#include "profiling/theory/rehearsal/graph.h"

#include <algorithm>
#include <queue>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Like libtorch's can_accumulate_inplace(): the buffer alone holds the memory.
bool can_add_in_place(const ShapeTensor& tensor) {
  return !tensor.is_view && tensor.is_dense() && tensor.storage.use_count() == 1;
}

void add_to_buffer(ShapeTensor& held, ShapeTensor&& gradient) {
  if (!held.defined()) {
    held = std::move(gradient);
    return;
  }
  const ShapeTensor arrived = std::move(gradient);
  if (!can_add_in_place(held)) held = add(held, arrived);
}

// A gradient in the shape and type of what it is the gradient of.
ShapeTensor validated(ShapeTensor gradient, const Node::Input& wanted) {
  if (!(gradient.sizes == wanted.sizes)) gradient = sum_to(gradient, wanted.sizes);
  if (gradient.dtype != wanted.dtype) gradient = to(gradient, wanted.dtype);
  return gradient;
}

Tensors call(Node& node) {
  ShapeTensor gradient = std::move(node.buffer);
  node.buffer = {};
  for (const auto& hook : node.when_reached) hook();
  Tensors outputs = node.apply(gradient);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.next[i] == nullptr) {
      outputs[i] = {};
    } else if (outputs[i].defined()) {
      outputs[i] = validated(std::move(outputs[i]), node.next[i]->input);
    }
  }
  return outputs;
}

void count_dependencies(Node* root) {
  std::vector<Node*> left = {root};
  root->seen = true;
  while (!left.empty()) {
    Node* node = left.back();
    left.pop_back();
    for (const auto& next : node->next) {
      if (next == nullptr) continue;
      ++next->waits_for;
      if (next->seen) continue;
      next->seen = true;
      left.push_back(next.get());
    }
  }
}

struct Later {
  bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const {
    return a->sequence < b->sequence;
  }
};

}  // namespace

// A chain as long as the model would be let go by as deep a recursion.
Node::~Node() {
  std::vector<std::shared_ptr<Node>> left = std::move(next);
  while (!left.empty()) {
    const std::shared_ptr<Node> node = std::move(left.back());
    left.pop_back();
    if (node == nullptr || node.use_count() > 1) continue;
    node->apply = nullptr;
    for (auto& further : node->next) left.push_back(std::move(further));
    node->next.clear();
  }
}

bool is_recorded(std::initializer_list<const ShapeTensor*> operands) {
  return (*operands.begin())->run->grad_mode &&
         std::any_of(operands.begin(), operands.end(),
                     [](const ShapeTensor* each) { return each->requires_grad(); });
}

Node& attach(const char* name, ShapeTensor& output,
             std::initializer_list<const ShapeTensor*> operands,
             std::function<Tensors(ShapeTensor&)> apply) {
  Run& run = *output.run;
  auto node = std::make_shared<Node>();
  node->name = name;
  node->block = run.memory.site.block;
  node->sequence = run.next_sequence++;
  node->next.reserve(operands.size());
  for (const ShapeTensor* operand : operands) node->next.push_back(operand->made_by);
  node->input = {output.sizes, output.dtype};
  node->apply = std::move(apply);
  output.made_by = std::move(node);
  return *output.made_by;
}

void backward(ShapeTensor& root, const ShapeTensor& gradient) {
  Run& run = *root.run;
  const GradMode no_grad(run, false);
  const InBackward thread(run);
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, Later> ready;
  count_dependencies(root.made_by.get());
  root.made_by->buffer = gradient;
  ready.push(root.made_by);
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = ready.top();
    ready.pop();
    node->seen = false;
    run.memory.site.block = node->block;
    run.memory.site.operation = node->name;
    Tensors outputs = call(*node);
    const bool leaf = node->next.empty();
    if (!leaf) node->apply = nullptr;
    const std::vector<std::shared_ptr<Node>> next = std::move(node->next);
    node->next.clear();
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i] == nullptr) continue;
      if (ShapeTensor output = std::move(outputs[i]); output.defined()) {
        add_to_buffer(next[i]->buffer, std::move(output));
      }
      if (--next[i]->waits_for == 0) ready.push(next[i]);
    }
  }
  run.memory.site.block = -1;
}

}  // namespace headroom
