#include "profiling/theory/rehearsal/parallel/moved_shapes.h"

#include <utility>

#include "profiling/theory/rehearsal/run.h"

namespace headroom {

namespace {
thread_local MovedCount* counting = nullptr;
}

CountingMoved::CountingMoved(MovedCount& count) : before_(std::exchange(counting, &count)) {}

CountingMoved::~CountingMoved() { counting = before_; }

void begin_moved_step() {
  if (counting != nullptr) counting->begin_step();
}

void count_moved(Run& run, const MovedCall& call, const std::string& tensor,
                 const std::string& letters, const Dims& sizes, DType dtype) {
  if (counting == nullptr) return;
  const std::string each = std::to_string(element_size(dtype)) + " B";
  MovedRow row{.axis = call.axis,
               .between_copies = call.between_copies,
               .kind = call.kind,
               .phase = run.memory.site.phase,
               .tensor = tensor,
               .derivation = each,
               .bytes_each = sizes.product() * element_size(dtype)};
  if (!letters.empty()) {
    row.derivation = letters + " * " + each + " = ";
    for (const int64_t size : sizes) row.derivation += std::to_string(size) + " * ";
    row.derivation += each;
  }
  counting->add(std::move(row));
}

}  // namespace headroom
