#include "profiling/theory/rehearsal/techniques/whole_shapes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "profiling/theory/rehearsal/graph.h"
#include "train/techniques/activations/shape_nodes.h"

namespace headroom {
namespace {

bool is_parameters(const ShapeTensor& tensor) {
  const Node* node = tensor.made_by.get();
  while (node != nullptr && node->next.size() == 1 && changes_shape_or_type_only(node->name)) {
    node = node->next.front().get();
  }
  return node != nullptr && std::string_view(node->name) == "AccumulateGrad";
}

}  // namespace

// The kept part of one storage.
class WholeShapes::Whole {
 public:
  Whole(std::unique_ptr<ShapeForm> form, DType type) : form_(std::move(form)), type_(type) {}

  DType type() const { return type_; }
  void add_save() { ++saves_; }
  void remove_save() { --saves_; }

  ShapeTensor restored() {
    if (!restored_.defined()) {
      restored_ = form_->restore();
      waiting_ = saves_;
    }
    ShapeTensor numbers = restored_;
    if (--waiting_ <= 0) restored_ = {};
    return numbers;
  }

 private:
  std::unique_ptr<ShapeForm> form_;
  DType type_;
  int64_t saves_ = 0;    // that have not been released
  int64_t waiting_ = 0;  // of these, for what is restored
  ShapeTensor restored_;
};

// One save.
class WholeShapes::View final : public PackedShape {
 public:
  View(std::shared_ptr<Whole> whole, const ShapeTensor& tensor)
      : whole_(std::move(whole)), sizes_(tensor.sizes), strides_(tensor.strides) {
    whole_->add_save();
  }
  ~View() override { whole_->remove_save(); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  ShapeTensor unpack() override {
    ShapeTensor numbers = whole_->restored();
    numbers.sizes = sizes_;
    numbers.strides = strides_;
    return numbers;
  }

 private:
  std::shared_ptr<Whole> whole_;
  Dims sizes_;
  Dims strides_;
};

// A storage that was packed. The weak reference keeps the address from being another storage's.
struct WholeShapes::Known {
  std::weak_ptr<Storage> original;
  std::weak_ptr<Whole> packed;
};

WholeShapes::WholeShapes(int64_t min_bytes) : min_bytes_(min_bytes) {}

WholeShapes::~WholeShapes() = default;

bool WholeShapes::takes(const ShapeTensor& tensor) const {
  if (!tensor.requires_grad()) return false;
  const int64_t bytes = tensor.storage->bytes();
  return bytes > 0 && bytes >= min_bytes_ && !is_parameters(tensor);
}

std::shared_ptr<PackedShape> WholeShapes::pack(const ShapeTensor& tensor) {
  const auto it = known_.find(tensor.storage.get());
  if (it != known_.end() && !it->second.original.expired()) {
    const std::shared_ptr<Whole> packed = it->second.packed.lock();
    if (packed && packed->type() == tensor.dtype) return std::make_shared<View>(packed, tensor);
  }
  auto packed = std::make_shared<Whole>(form_of(tensor), tensor.dtype);
  forget_the_dead();
  known_.insert_or_assign(tensor.storage.get(), Known{tensor.storage, packed});
  return std::make_shared<View>(std::move(packed), tensor);
}

void WholeShapes::forget_the_dead() {
  if (known_.size() < look_at_) return;
  std::erase_if(known_, [](const auto& entry) {
    return entry.second.original.expired() || entry.second.packed.expired();
  });
  look_at_ = std::max<size_t>(64, 2 * known_.size());
}

}  // namespace headroom
