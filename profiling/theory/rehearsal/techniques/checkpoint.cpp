#include "profiling/theory/rehearsal/techniques/checkpoint.h"

#include <cassert>
#include <memory>
#include <optional>
#include <utility>

#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/run.h"
#include "profiling/theory/rehearsal/techniques/saved.h"

namespace headroom {
namespace {

// Allocations in its lifetime repeat earlier ones; then the node that asked continues.
class InRecomputation {
 public:
  explicit InRecomputation(Run& run) : run_(run), site_(run.memory.site), group_(run.memory.group) {
    run.memory.site.phase = "recompute";
    run.memory.group = kRecomputed;
  }
  ~InRecomputation() {
    run_.memory.site = site_;
    run_.memory.group = group_;
  }
  InRecomputation(const InRecomputation&) = delete;
  InRecomputation& operator=(const InRecomputation&) = delete;

 private:
  Run& run_;
  AllocationSite site_;
  const char* group_;
};

// The end of a gradient; backward never runs it.
std::shared_ptr<Node> leaf(const ShapeTensor& tensor) {
  auto node = std::make_shared<Node>();
  node->name = "AccumulateGrad";
  node->input = {tensor.sizes, tensor.dtype};
  return node;
}

// One run of a checkpointed function. Held by its slots.
class Frame final : public SavedShapes, public std::enable_shared_from_this<Frame> {
 public:
  Frame(ShapeFunction function, const std::vector<ShapeTensor>& inputs)
      : function_(std::move(function)),
        run_(*inputs.front().run),
        autocast_(inputs.front().run->autocast) {
    for (const ShapeTensor& input : inputs) {
      inputs_.push_back({save_input(input), input.requires_grad()});
    }
  }

  ShapeTensor run(std::vector<ShapeTensor> inputs) {
    const RehearsedSaving saving(run_, this);
    return function_(std::move(inputs));
  }

  bool takes_inputs() const override { return true; }
  std::shared_ptr<PackedShape> pack(const ShapeTensor& /*tensor*/) override {
    slots_.emplace_back();
    return std::make_shared<Held>(shared_from_this(), slots_.size() - 1);
  }

 private:
  struct Input {
    Saved value;
    bool requires_grad;
  };
  struct Slot {
    bool is_held = true;  // by a node that may ask for it
    ShapeTensor value;    // between a recomputation and its use
  };

  // A node's replacement for the tensor that it saved.
  class Held final : public PackedShape {
   public:
    Held(std::shared_ptr<Frame> frame, size_t slot) : frame_(std::move(frame)), slot_(slot) {}
    ~Held() override {
      frame_->slots_[slot_].is_held = false;
      frame_->slots_[slot_].value = {};
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ShapeTensor unpack() override { return frame_->take(slot_); }

   private:
    std::shared_ptr<Frame> frame_;
    size_t slot_;
  };

  // Thrown out of the function when all is there.
  struct Enough {};

  // The slots, filled in the order in which they were made.
  class Refill final : public SavedShapes {
   public:
    explicit Refill(Frame& frame) : frame_(frame) {
      for (size_t i = 0; i < frame.slots_.size(); ++i) {
        if (frame.slots_[i].is_held) needed_ = i + 1;
      }
    }
    bool takes_inputs() const override { return true; }
    std::shared_ptr<PackedShape> pack(const ShapeTensor& tensor) override {
      assert(next_ < frame_.slots_.size());
      Slot& slot = frame_.slots_[next_++];
      if (slot.is_held) slot.value = tensor;
      if (next_ >= needed_) throw Enough{};
      return nullptr;  // for the graph that nobody uses
    }

   private:
    Frame& frame_;
    size_t next_ = 0;
    size_t needed_ = 0;
  };

  ShapeTensor take(size_t index) {
    const auto self = shared_from_this();
    if (!slots_[index].value.defined()) recompute();
    assert(slots_[index].value.defined());
    return std::exchange(slots_[index].value, ShapeTensor());
  }

  void recompute() {
    std::vector<ShapeTensor> inputs;
    for (const Input& input : inputs_) {
      inputs.push_back(input.value.unpack());
      if (input.requires_grad) inputs.back().made_by = leaf(inputs.back());
    }
    const InRecomputation scope(run_);
    try {
      run_again(std::move(inputs));
    } catch (const Enough&) {
    }
  }

  void run_again(std::vector<ShapeTensor> inputs) {
    const GradMode with_graph(run_, true);
    const RehearsedAutocast autocast(run_, autocast_);
    Refill refill(*this);
    const RehearsedSaving saving(run_, &refill);
    function_(std::move(inputs));
  }

  ShapeFunction function_;
  Run& run_;
  std::optional<DType> autocast_;
  std::vector<Input> inputs_;
  std::vector<Slot> slots_;
};

}  // namespace

ShapeTensor rehearse_checkpointed(const ShapeFunction& function, std::vector<ShapeTensor> inputs) {
  if (!inputs.front().run->grad_mode) return function(std::move(inputs));
  const auto frame = std::make_shared<Frame>(function, inputs);
  return frame->run(std::move(inputs));
}

ShapeTensor run_groups(const std::vector<BlockGroup>& groups, const ShapeSpan& run,
                       ShapeTensor x_BSD) {
  for (const BlockGroup& group : groups) {
    if (!group.recomputed) {
      x_BSD = run(group.first, group.end, std::move(x_BSD));
      continue;
    }
    const ShapeFunction blocks = [run, group](std::vector<ShapeTensor> inputs) {
      return run(group.first, group.end, std::move(inputs.front()));
    };
    x_BSD = rehearse_checkpointed(blocks, {x_BSD});
  }
  return x_BSD;
}

ShapeTensor recomputed_attention(const ShapeTensor& q_BHSK, const ShapeTensor& k_BHTK,
                                 const ShapeTensor& v_BHTK) {
  std::vector<ShapeTensor> inputs = {q_BHSK, k_BHTK, v_BHTK};
  if (const std::optional<DType> compute = q_BHSK.run->autocast) {
    for (ShapeTensor& input : inputs) input = cast(input, *compute);
  }
  const ShapeFunction scores = [](std::vector<ShapeTensor> qkv) {
    return eager_attention(qkv[0], qkv[1], qkv[2]);
  };
  return rehearse_checkpointed(scores, std::move(inputs));
}

}  // namespace headroom
