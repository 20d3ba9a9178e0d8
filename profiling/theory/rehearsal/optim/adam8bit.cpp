#include <algorithm>

#include "profiling/theory/rehearsal/optim/optimizer.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Like train/optim/adam8bit.cpp.
class RehearsedAdam8bit : public RehearsedOptimizer {
 public:
  using RehearsedOptimizer::RehearsedOptimizer;

  std::vector<ShapeTensor*> state() override {
    std::vector<ShapeTensor*> all = pointers_to({&m_, &v_, &m_scale_, &v_scale_});
    if (maps_.defined()) all.push_back(&maps_);
    return all;
  }

 private:
  void update() override;
  void make_state();
  void update_one(size_t i);
  void update_chunk(const ShapeTensor& gradient, int64_t length);
  void update_small(size_t i);

  // The update of one chunk.
  ShapeTensor flat(const char* operation, int64_t elements, DType dtype = DType::kFp32) {
    run_.memory.site.operation = operation;
    return empty(run_, {elements}, dtype);
  }

  ShapeTensor maps_;
  std::vector<ShapeTensor> m_, v_, m_scale_, v_scale_;  // no scales of a small tensor
};

bool is_small(const Parameter& parameter) {
  const int64_t own = parameter.value.elements();
  return std::max(own, parameter.whole_elements) < k8BitSmallest;
}

void RehearsedAdam8bit::make_state() {
  maps_.storage = run_.maps_of_8_bits.lock();
  if (!maps_.defined()) {
    maps_ = zeros({4, 256}, DType::kFp32);
    run_.maps_of_8_bits = maps_.storage;
  }
  for (const Parameter* parameter : parameters_) {
    const ShapeTensor& p = parameter->value;
    const Dims scales = {scales_of(p.elements(), k8BitBlock), 1};
    const bool small = is_small(*parameter);
    const DType moment = small ? DType::kFp32 : DType::kUint8;
    m_.push_back(zeros(p.sizes, moment));
    v_.push_back(zeros(p.sizes, moment));
    m_scale_.push_back(small ? ShapeTensor{} : zeros(scales, DType::kFp32));
    v_scale_.push_back(small ? ShapeTensor{} : zeros(scales, DType::kFp32));
  }
}

void RehearsedAdam8bit::update() {
  if (m_.empty()) make_state();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (is_small(*parameters_[i])) {
      update_small(i);
    } else {
      update_one(i);
    }
  }
}

void RehearsedAdam8bit::update_one(size_t i) {
  const int64_t elements = parameters_[i]->value.elements();
  const int64_t in_full_blocks = elements / k8BitBlock * k8BitBlock;
  for (int64_t begin = 0; begin < elements;) {
    const int64_t rest = begin < in_full_blocks ? in_full_blocks - begin : elements - begin;
    const int64_t length = std::min(rest, kAdam8bitChunk);
    update_chunk(parameters_[i]->gradient, length);
    begin += length;
  }
}

void RehearsedAdam8bit::update_chunk(const ShapeTensor& gradient, int64_t length) {
  ShapeTensor g;
  if (gradient.dtype != DType::kFp32) g = flat("_to_copy", length);
  ShapeTensor lost;
  {
    const ShapeTensor zero_or_nan = flat("sub", length);
    lost = flat("_to_copy", length, DType::kBool);
  }
  const auto decoded = [&] {
    const ShapeTensor codes = flat("_to_copy", length, DType::kInt32);
    return flat("index_select", length);
  };
  const ShapeTensor m = decoded();
  const ShapeTensor v = decoded();
  lost = {};
  flat("sqrt", length);
  for (int moment = 0; moment < 2; ++moment) flat("bucketize", length, DType::kInt32);
}

void RehearsedAdam8bit::update_small(size_t i) {
  const ShapeTensor g = widened(parameters_[i]->gradient);
  sqrt(v_[i]);
}

}  // namespace

RehearsedOptimizerPtr rehearse_adam8bit(std::vector<Parameter*> parameters) {
  return std::make_unique<RehearsedAdam8bit>(std::move(parameters));
}

}  // namespace headroom
