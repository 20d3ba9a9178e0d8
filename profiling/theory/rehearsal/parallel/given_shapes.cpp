#include "profiling/theory/rehearsal/parallel/given_shapes.h"

#include <utility>

#include "profiling/theory/rehearsal/run.h"
#include "train/parallel/data/buckets.h"

namespace headroom {

GivenShapes::GivenShapes(const std::vector<Parameter*>& parameters, int64_t bucket_bytes,
                         std::function<void(Parameter&)> sink)
    : sink_(std::move(sink)) {
  std::vector<int64_t> bytes;
  std::vector<int64_t> blocks;
  for (const Parameter* parameter : parameters) {
    bytes.push_back(parameter->value.elements() * element_size(parameter->value.dtype));
    blocks.push_back(parameter->value.made_by->block);
  }
  for (const std::vector<size_t>& indices : buckets_of(bytes, blocks, bucket_bytes)) {
    Bucket& bucket = buckets_.emplace_back();
    for (const size_t i : indices) bucket.parameters.push_back(parameters[i]);
    bucket.missing = indices.size();
  }
  for (Bucket& bucket : buckets_) {
    for (Parameter* parameter : bucket.parameters) {
      parameter->when_accumulated = [this, &bucket] { completed(bucket); };
    }
  }
}

void GivenShapes::completed(Bucket& bucket) {
  if (--bucket.missing > 0) return;
  bucket.missing = bucket.parameters.size();
  if (const Bucket* before = std::exchange(adding_up_, &bucket)) give(*before);
}

void GivenShapes::give(const Bucket& bucket) const {
  for (Parameter* parameter : bucket.parameters) sink_(*parameter);
}

void GivenShapes::end_backward() {
  if (const Bucket* last = std::exchange(adding_up_, nullptr)) give(*last);
}

}  // namespace headroom
