// The forward call that made the running autograd node.
#pragma once

#include <vector>

namespace headroom {

// Note [Backward of]
// Rationale: an allocation of backward has the engine's stack, without a line of model/. Yet a
//   gradient belongs to a line: that of the differentiated operation.
// Approach: autograd numbers the nodes of a thread in the order of the operations. While a
//   ForwardCalls lives, an operation that made nodes stores its stack under their numbers when it
//   ends; of nested operations the innermost ends first, and its stack stays. A
//   torch::autograd::Function takes its number before its first operation, which runs without
//   gradients: its stack is stored under the number already taken. For an allocation while the
//   engine runs a node, StackTable finds the stack of the node's number here. AccumulateGrad has no
//   number, and the engine's highest priority: it runs right after the node before it in the graph,
//   on the same thread, so its copies belong to the last number there.
// Limits: a gradient to which several nodes add has the line of the last of them.
class ForwardCalls {
 public:
  ForwardCalls();  // one at a time, while no step runs
  ~ForwardCalls();
  ForwardCalls(const ForwardCalls&) = delete;
  ForwardCalls& operator=(const ForwardCalls&) = delete;
};

// Program counters of the caller, innermost first, at most 128.
std::vector<void*> stack_of_caller();

// The stack of the call that made the node now running on this thread; empty outside of a backward,
// or if none was stored.
std::vector<void*> forward_call_of_running_node();

}  // namespace headroom
