#include "profiling/theory/rehearsal/offload/offloaded.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "profiling/theory/rehearsal/run.h"
#include "profiling/theory/rehearsal/techniques/compressed.h"

namespace headroom {

// Vectors that are on the card, or on the host alone.
class OffloadedShapes::Moved final : public SavedUnits::Moved {
 public:
  Moved(std::vector<ShapeTensor> vectors, HostRanges& host)
      : host_(host), on_card_(std::move(vectors)), vectors_(on_card_) {
    for (ShapeTensor& vector : vectors_) {
      const int64_t bytes = vector.elements() * element_size(vector.dtype);
      ranges_.push_back(host_.take(bytes, [] {}));
      vector.storage.reset();
    }
  }
  ~Moved() override {
    for (const auto& ranges : ranges_) host_.give_back(ranges);
  }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

  void leave() override { on_card_.clear(); }

  void fetch() override {
    if (!on_card_.empty()) return;
    for (const ShapeTensor& vector : vectors_) {
      on_card_.push_back(empty(*vector.run, vector.sizes, vector.dtype));
    }
  }

  std::vector<ShapeTensor> take() {
    fetch();
    return std::exchange(on_card_, {});
  }

 private:
  HostRanges& host_;
  std::vector<ShapeTensor> on_card_;
  std::vector<ShapeTensor> vectors_;  // their sizes, without memory
  std::vector<std::vector<HostRanges::Range>> ranges_;
};

class OffloadedShapes::Form final : public ShapeForm {
 public:
  Form(OffloadedShapes& owner, const ShapeTensor& tensor)
      : owner_(owner),
        type_(tensor.dtype),
        unit_(owner.units_.of_a_save(owner.run_.memory.site.block)) {
    std::vector<ShapeTensor> vectors;
    if (owner.activations_.encoded()) {
      QuantizedShape quantized = rehearse_quantize(tensor, owner.activations_);
      vectors = {std::move(quantized.codes), std::move(quantized.scales)};
    } else {
      ShapeTensor numbers = tensor.detach();
      numbers.sizes = {tensor.storage->bytes() / element_size(type_)};
      numbers.strides = {1};
      vectors = {std::move(numbers)};
    }
    moved_ = std::make_shared<Moved>(std::move(vectors), owner.host_);
    owner.units_.add(unit_, moved_);
  }

  ShapeTensor restore() override {
    owner_.units_.use(unit_);
    std::vector<ShapeTensor> vectors = moved_->take();
    if (!owner_.activations_.encoded()) return vectors.front();
    const QuantizedShape quantized = {.codes = vectors[0], .scales = vectors[1]};
    return rehearse_dequantize(quantized, type_, owner_.activations_.block);
  }

 private:
  OffloadedShapes& owner_;
  DType type_;
  size_t unit_;
  std::shared_ptr<Moved> moved_;
};

OffloadedShapes::OffloadedShapes(Run& run, const Activations& activations, int64_t layers)
    : WholeShapes(activations.min_bytes),
      run_(run),
      activations_(activations),
      last_blocks_({layers - 1}) {}

OffloadedShapes::~OffloadedShapes() = default;

void OffloadedShapes::begin_forward(bool backward_follows) {
  units_.begin_pass();
  backward_follows_ = backward_follows;
}

bool OffloadedShapes::is_last() const {
  return backward_follows_ && std::find(last_blocks_.begin(), last_blocks_.end(),
                                        run_.memory.site.block) != last_blocks_.end();
}

bool OffloadedShapes::takes(const ShapeTensor& tensor) const {
  if (run_.memory.site.block == SavedUnits::kNoBlock || is_last()) return false;
  if (activations_.encoded() && !is_coded(tensor)) return false;
  return WholeShapes::takes(tensor);
}

std::shared_ptr<PackedShape> OffloadedShapes::pack(const ShapeTensor& tensor) {
  if (is_last() || tensor.storage->bytes() < activations_.min_bytes) return nullptr;
  return WholeShapes::pack(tensor);
}

std::unique_ptr<ShapeForm> OffloadedShapes::form_of(const ShapeTensor& tensor) {
  return std::make_unique<Form>(*this, tensor);
}

}  // namespace headroom
