#include "train/techniques/checkpoint/checkpoint.h"

#include <ATen/autocast_mode.h>

#include <memory>
#include <optional>
#include <utility>

#include "train/techniques/activations/saved_tensors.h"
#include "train/techniques/checkpoint/random_state.h"
#include "train/techniques/precision.h"

namespace headroom {
namespace {

using torch::Tensor;

// One run of a checkpointed function. Its slots own it.
class Frame final : public SavedTensors, public std::enable_shared_from_this<Frame> {
 public:
  Frame(TensorFunction function, const std::vector<Tensor>& inputs, RecomputeListener listener)
      : function_(std::move(function)),
        listener_(std::move(listener)),
        device_(inputs.front().device()),
        autocast_(AutocastState::now(device_.type())) {
    for (const Tensor& input : inputs) inputs_.push_back({save(input), input.requires_grad()});
  }

  Tensor run(std::vector<Tensor> inputs) {
    RandomState before = RandomState::now(device_);
    const SavingGuard saving(this);
    Tensor output = function_(std::move(inputs));
    if (before.has_moved()) random_ = std::move(before);
    return output;
  }

  bool takes_inputs() const override { return true; }
  std::unique_ptr<PackedTensor> pack(const Tensor& tensor) override {
    slots_.push_back({.dtype = tensor.scalar_type(), .elements = tensor.numel()});
    return std::make_unique<Held>(shared_from_this(), slots_.size() - 1);
  }

 private:
  struct Input {
    std::unique_ptr<PackedTensor> value;
    bool requires_grad;
  };
  struct Slot {
    at::ScalarType dtype;
    int64_t elements;
    bool is_held = true;  // by a node that may ask for it
    Tensor value;         // between a recomputation and its use
  };

  // Replaces a node's saved tensor.
  class Held final : public PackedTensor {
   public:
    Held(std::shared_ptr<Frame> frame, size_t slot) : frame_(std::move(frame)), slot_(slot) {}
    ~Held() override {
      frame_->slots_[slot_].is_held = false;
      frame_->slots_[slot_].value.reset();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    Tensor unpack() override { return frame_->take(slot_); }

   private:
    std::shared_ptr<Frame> frame_;
    size_t slot_;
  };

  // Thrown out of the function when every held slot is filled. No other code catches this type.
  struct Enough {
    const Frame* frame;
  };

  // Fills the slots in the order in which they were made.
  class Refill final : public SavedTensors {
   public:
    explicit Refill(Frame& frame) : frame_(frame) {
      for (size_t i = 0; i < frame.slots_.size(); ++i) {
        if (frame.slots_[i].is_held) needed_ = i + 1;
      }
    }
    bool takes_inputs() const override { return true; }
    std::unique_ptr<PackedTensor> pack(const Tensor& tensor) override {
      Slot& slot = frame_.slots_[next_++];
      TORCH_CHECK(slot.dtype == tensor.scalar_type() && slot.elements == tensor.numel(),
                  "checkpointing: computed again, save ", next_, " is ", tensor.numel(), " ",
                  tensor.scalar_type(), " where it was ", slot.elements, " ", slot.dtype);
      if (slot.is_held) slot.value = tensor;
      if (next_ >= needed_) throw Enough{&frame_};
      return nullptr;  // for the unused graph
    }

   private:
    Frame& frame_;
    size_t next_ = 0;
    size_t needed_ = 0;
  };

  Tensor take(size_t index) {
    const auto self = shared_from_this();
    if (!slots_[index].value.defined()) recompute();
    TORCH_CHECK(slots_[index].value.defined(), "checkpointing: computed again, save ", index + 1,
                " of ", slots_.size(), " was not made");
    return std::exchange(slots_[index].value, Tensor());
  }

  void recompute() {
    std::vector<Tensor> inputs;
    for (const Input& input : inputs_) {
      // Before the scope opens: an outer checkpoint may have to recompute it first.
      inputs.push_back(input.value->unpack().detach());
      if (input.requires_grad) inputs.back().requires_grad_(true);
    }
    const StepScope scope(listener_ ? listener_() : nullptr, {ScopeKind::kRecompute, "recompute"});
    try {
      run_again(std::move(inputs));
    } catch (const Enough& enough) {
      if (enough.frame != this) throw;
    } catch (...) {
      for (Slot& slot : slots_) slot.value.reset();
      throw;
    }
  }

  void run_again(std::vector<Tensor> inputs) {
    const at::AutoGradMode with_graph(true);
    const AutocastGuard autocast(autocast_);
    std::optional<RandomStateGuard> random;
    if (random_) random.emplace(*random_);
    Refill refill(*this);
    const SavingGuard saving(&refill);
    function_(std::move(inputs));
  }

  TensorFunction function_;
  RecomputeListener listener_;
  torch::Device device_;
  AutocastState autocast_;
  std::optional<RandomState> random_;  // only if the function draws
  std::vector<Input> inputs_;
  std::vector<Slot> slots_;
};

}  // namespace

Tensor checkpointed(const TensorFunction& function, std::vector<Tensor> inputs,
                    const RecomputeListener& listener) {
  if (!torch::GradMode::is_enabled()) return function(std::move(inputs));
  const auto frame = std::make_shared<Frame>(function, inputs, listener);
  return frame->run(std::move(inputs));
}

GroupRunner checkpointing_runner(const Checkpoint& setting, const RecomputeListener& listener) {
  if (setting.kind == CheckpointKind::kNone || setting.kind == CheckpointKind::kSelective) {
    return nullptr;
  }
  return [setting, listener](int64_t layers, const BlockSpan& run, Tensor x_BSD) {
    for (const BlockGroup& group : block_groups(setting, layers)) {
      if (!group.recomputed) {
        x_BSD = run(group.first, group.end, std::move(x_BSD));
        continue;
      }
      const TensorFunction blocks = [run, group](std::vector<Tensor> inputs) {
        return run(group.first, group.end, std::move(inputs.front()));
      };
      x_BSD = checkpointed(blocks, {x_BSD}, listener);
    }
    return x_BSD;
  };
}

AttentionRunner recomputing_core(const RecomputeListener& listener) {
  return [listener](const AttentionCore& core, const Tensor& q_BHSK, const Tensor& k_BHTK,
                    const Tensor& v_BHTK) {
    std::vector<Tensor> inputs = {q_BHSK, k_BHTK, v_BHTK};
    const auto device = q_BHSK.device().type();
    if (at::autocast::is_autocast_enabled(device)) {
      const at::ScalarType compute = at::autocast::get_autocast_dtype(device);
      for (Tensor& input : inputs) input = at::autocast::cached_cast(compute, input, device);
    }
    const TensorFunction scores = [core](std::vector<Tensor> qkv) {
      return core(qkv[0], qkv[1], qkv[2]);
    };
    return checkpointed(scores, std::move(inputs), listener);
  };
}

}  // namespace headroom
