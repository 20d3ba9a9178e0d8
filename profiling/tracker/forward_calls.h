// Which call of the forward made the autograd node that runs now.
#pragma once

#include <vector>

namespace headroom {

// Note [Backward of]
// Rationale: what backward allocates has the engine's stack, and no line of model/ is in it. A
//   gradient belongs to a line all the same: the one whose operation is differentiated.
// Approach: autograd numbers the nodes that a thread makes, in the order of the operations. While
//   this lives, an operation that made nodes leaves its stack under their numbers when it ends; the
//   innermost of several ends first and stays. A torch::autograd::Function takes its number before
//   its first operation, which runs without gradients: it is noted under the number already taken.
//   Where memory is asked for while the engine runs a node, StackTable finds the stack of the
//   node's number here. AccumulateGrad has no number, and the engine's highest priority: it runs as
//   soon as the node before it in the graph has run, on the same thread, so what it copies belongs
//   to the last number there.
// Limits: a gradient to which several nodes add has the line of the last of them.
class ForwardCalls {
 public:
  ForwardCalls();  // one at a time, and no step running
  ~ForwardCalls();
  ForwardCalls(const ForwardCalls&) = delete;
  ForwardCalls& operator=(const ForwardCalls&) = delete;
};

// Program counters of the caller, innermost first, at most 128.
std::vector<void*> stack_of_caller();

// Those of the call that made the node which the engine runs on this thread; none outside of a
// backward, or where nobody noted them.
std::vector<void*> forward_call_of_running_node();

}  // namespace headroom
