// The graph that a forward leaves, and backward through it as libtorch's engine goes. No torch
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "profiling/theory/rehearsal/operations/tensor.h"
#include "profiling/theory/rehearsal/techniques/saved.h"

namespace headroom {

using Tensors = std::vector<ShapeTensor>;

// Libtorch differentiates one result of every operation here.
struct Node {
  // Required form of an arriving gradient.
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
  std::vector<std::function<void()>> when_reached;  // before that: hooks on its result

  // While backward runs.
  int64_t waits_for = 0;
  bool seen = false;
  ShapeTensor buffer;

  ~Node();
};

// True if a result of these operands gets a node.
bool is_recorded(std::initializer_list<const ShapeTensor*> operands);

// Note [Moment of a node's saving]
// Rationale: a technique that packs what is saved allocates there and then, or computes no further.
// Approach: as the code that libtorch generates: operands are saved before the operation runs,
//   results when it has run and they are in the graph; each of the two in the order of their names
//   in derivatives.yaml. A node unpacks all that it has saved, in the same order, before it
//   computes anything, and holds it to its end.
// Limits: what cannot be packed (indices, what no gradient goes through) may stand in any order.

// Makes `output` the result of a node; `apply` is Node::apply, set later where it needs results.
Node& attach(const char* name, ShapeTensor& output,
             std::initializer_list<const ShapeTensor*> operands,
             std::function<Tensors(ShapeTensor&)> apply = nullptr);

void backward(ShapeTensor& root, const ShapeTensor& gradient);

}  // namespace headroom
