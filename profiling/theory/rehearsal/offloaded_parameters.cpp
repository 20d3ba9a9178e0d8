#include "profiling/theory/rehearsal/offloaded_parameters.h"

#include <utility>

#include "profiling/theory/rehearsal/graph.h"

namespace headroom {

void OffloadedParameterShapes::take(std::vector<ShapeTensor> parameters) {
  parameters_.push_back(std::move(parameters));
  drop(count());
  add();
}

void OffloadedParameterShapes::fetch(int64_t index) {
  for (const ShapeTensor& parameter : parameters_[static_cast<size_t>(index)]) {
    parameter.storage->come_back();
  }
}

void OffloadedParameterShapes::drop(int64_t index) {
  for (const ShapeTensor& parameter : parameters_[static_cast<size_t>(index)]) {
    parameter.storage->leave();
  }
}

ShapeTensor OffloadedParameterShapes::run(
    int64_t index, const ShapeTensor& x_BSD,
    const std::function<ShapeTensor(const ShapeTensor&)>& block) {
  struct Running {
    OffloadedParameterShapes& owner;
    int64_t index;
    bool with_graph;
    ~Running() { owner.end_run(index, with_graph); }
  };
  const bool hooked = run_.grad_mode && !in_backward();
  begin_run(index);
  const Running running{*this, index, run_.grad_mode};
  if (hooked && index == 0) {
    x_BSD.made_by->when_reached.emplace_back([this] { end_backward(); });
  }
  ShapeTensor y_BSD = block(x_BSD);
  if (hooked) y_BSD.made_by->when_reached.emplace_back([this, index] { begin_backward(index); });
  return y_BSD;
}

}  // namespace headroom
