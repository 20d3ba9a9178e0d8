#include "profiling/theory/rehearsal/offload/offloaded_parameters.h"

#include <utility>

namespace headroom {

void OffloadedParameterShapes::take(std::vector<ShapeTensor> parameters) {
  for (const ShapeTensor& parameter : parameters) {
    host_.take(parameter.elements() * element_size(parameter.dtype), [] {});
  }
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

}  // namespace headroom
