// The graph that a forward leaves, and backward through it as libtorch's engine goes. No torch
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "profiling/theory/rehearsal/tensor.h"

namespace headroom {

using Tensors = std::vector<ShapeTensor>;

// Of every operation here libtorch differentiates one result.
struct Node {
  // What a gradient must be like that arrives.
  struct Input {
    Dims sizes;
    DType dtype = DType::kFp32;
  };

  const char* name = "";
  int64_t block = -1;
  uint64_t sequence = 0;  // the latest made goes first; what accumulates a gradient, before all
  std::vector<std::shared_ptr<Node>> next;  // of each operand; null: nobody asks for its gradient
  Input input;
  // Gradients of the operands from that of the result; what it captures is what is saved.
  std::function<Tensors(ShapeTensor&)> apply;

  // While backward runs.
  int64_t waits_for = 0;
  bool seen = false;
  ShapeTensor buffer;

  ~Node();
};

// A tensor as a node keeps it. A technique that packs saved tensors stands here.
class Saved {
 public:
  explicit Saved(const ShapeTensor& tensor);
  ShapeTensor unpack() const { return unpack_ ? unpack_() : tensor_; }

 private:
  ShapeTensor tensor_;
  std::function<ShapeTensor()> unpack_;
};

// Whether what is made of these gets a node.
bool is_recorded(std::initializer_list<const ShapeTensor*> operands);

// Makes `output` the result of a node; `apply` is Node::apply.
void attach(const char* name, ShapeTensor& output,
            std::initializer_list<const ShapeTensor*> operands,
            std::function<Tensors(ShapeTensor&)> apply);

void backward(ShapeTensor& root, const ShapeTensor& gradient);

}  // namespace headroom
