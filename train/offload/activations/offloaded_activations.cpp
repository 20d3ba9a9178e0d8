#include "train/offload/activations/offloaded_activations.h"

#include <algorithm>
#include <utility>

#include "train/techniques/activations/compressed_activations.h"
#include "train/techniques/activations/quantize.h"

namespace headroom {

using torch::Tensor;

// Vectors that are on the card, on the host, or being copied.
class OffloadedActivations::Moved final : public SavedUnits::Moved {
 public:
  Moved(std::vector<Tensor> vectors, HostArena& arena, CopyQueue& copies)
      : vectors_(std::move(vectors)), copies_(copies) {
    for (const Tensor& vector : vectors_) {
      sizes_.push_back(vector.numel());
      options_.push_back(vector.options());
      buffers_.push_back(arena.take(static_cast<int64_t>(vector.nbytes())));
      on_the_way_.push_back(copies_.out(bytes_of(vector), buffers_.back()));
    }
  }
  // Afterwards the card's memory may be reused, so the copies must be done.
  ~Moved() override { wait(); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

  void leave() override {
    wait();
    vectors_.clear();
  }

  void fetch() override {
    if (!vectors_.empty()) return;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      vectors_.push_back(torch::empty({sizes_[i]}, options_[i]));
      on_the_way_.push_back(copies_.in(buffers_[i], bytes_of(vectors_.back())));
    }
  }

  // Gives the vectors away; the next call fetches them again.
  std::vector<Tensor> take() {
    fetch();
    wait();
    return std::exchange(vectors_, {});
  }

 private:
  void wait() {
    for (const auto& copy : on_the_way_) copy->wait();
    on_the_way_.clear();
  }

  std::vector<Tensor> vectors_;  // empty: only on the host
  std::vector<int64_t> sizes_;
  std::vector<torch::TensorOptions> options_;
  std::vector<std::shared_ptr<HostArena::Buffer>> buffers_;
  std::vector<std::unique_ptr<Copy>> on_the_way_;
  CopyQueue& copies_;
};

class OffloadedActivations::Form final : public StorageForm {
 public:
  Form(OffloadedActivations& owner, const Tensor& numbers)
      : owner_(owner), unit_(owner.units_.of_a_save(owner.block_)) {
    const Activations& setting = owner.activations_;
    std::vector<Tensor> vectors = {numbers};
    if (setting.encoded()) {
      Quantized quantized = quantize(numbers, setting, owner.packing_);
      vectors = {std::move(quantized.codes), std::move(quantized.scales)};
    }
    type_ = numbers.scalar_type();
    moved_ = std::make_shared<Moved>(std::move(vectors), *owner.arena_, *owner.copies_);
    owner.units_.add(unit_, moved_);
  }

  Tensor restore() override {
    owner_.units_.use(unit_);
    std::vector<Tensor> vectors = moved_->take();
    if (!owner_.activations_.encoded()) return vectors.front();
    Tensor numbers = torch::empty(vectors[0].sizes(), vectors[0].options().dtype(type_));
    dequantize({.codes = vectors[0], .scales = vectors[1], .block = owner_.activations_.block},
               numbers, owner_.packing_);
    return numbers;
  }

 private:
  OffloadedActivations& owner_;
  size_t unit_;
  at::ScalarType type_ = at::kFloat;
  std::shared_ptr<Moved> moved_;
};

OffloadedActivations::OffloadedActivations(const Activations& activations, torch::Device device,
                                           int64_t layers, std::shared_ptr<CopyQueue> copies,
                                           int64_t host_limit_bytes)
    : WholeStorages(activations.min_bytes),
      activations_(activations),
      last_blocks_({layers - 1}),
      arena_(HostArena::make(/*pinned=*/device.is_cuda(), host_limit_bytes)),
      copies_(std::move(copies)) {}

OffloadedActivations::~OffloadedActivations() = default;

void OffloadedActivations::end_at(std::vector<int64_t> last_blocks) {
  last_blocks_ = std::move(last_blocks);
  is_stage_ = true;
}

void OffloadedActivations::listen(ScopeListener* /*scopes*/, MemoryTags* tags) {
  tags_ = tags;
  tag(tags_, Category::kOther, arena_->slabs(), {"activations on the host"});
}

// The arena may have grown.
void OffloadedActivations::end_forward(const Task& /*task*/) {
  tag(tags_, Category::kOther, arena_->slabs(), {"activations on the host"});
}

void OffloadedActivations::begin_pass(bool backward_follows) {
  if (!is_stage_) return;
  units_.begin_pass();
  backward_follows_ = backward_follows;
}

bool OffloadedActivations::is_last() const {
  return backward_follows_ &&
         std::find(last_blocks_.begin(), last_blocks_.end(), block_) != last_blocks_.end();
}

bool OffloadedActivations::takes(const Tensor& tensor) {
  if (block_ == SavedUnits::kNoBlock || is_last()) return false;
  if (activations_.encoded() && !is_coded(tensor)) return false;
  return WholeStorages::takes(tensor);
}

std::unique_ptr<PackedTensor> OffloadedActivations::pack(const Tensor& tensor) {
  // save() calls pack() for inputs without takes().
  const auto bytes = static_cast<int64_t>(tensor.storage().nbytes());
  if (is_last() || bytes < activations_.min_bytes) return nullptr;
  return WholeStorages::pack(tensor);
}

BlockRunner OffloadedActivations::around(BlockRunner inner) {
  return [this, inner = std::move(inner)](int64_t index, TransformerBlock& block,
                                          const Tensor& x_BSD) {
    struct Inside {
      OffloadedActivations& owner;
      ~Inside() { owner.block_ = SavedUnits::kNoBlock; }
    };
    block_ = index;
    const Inside inside{*this};
    return inner(index, block, x_BSD);
  };
}

std::unique_ptr<StorageForm> OffloadedActivations::form_of(const Tensor& numbers) {
  return std::make_unique<Form>(*this, numbers);
}

}  // namespace headroom
