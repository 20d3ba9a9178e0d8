#include "train/techniques/activations/whole_storages.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <vector>

#include "train/techniques/activations/shape_nodes.h"

namespace headroom {

using torch::Tensor;

namespace {

// The whole storage as one vector.
Tensor numbers_of(const Tensor& tensor) {
  const auto count = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
  return tensor.as_strided({count}, {1}, 0);
}

// True if it is a parameter, or a view or cast of one.
bool is_parameters(const Tensor& tensor) {
  if (tensor.is_leaf() || (tensor.is_view() && tensor._base().is_leaf())) return true;
  auto node = tensor.grad_fn();  // its type differs between libtorch's versions
  while (node && node->num_outputs() == 1 && changes_shape_or_type_only(node->name())) {
    node = node->next_edge(0).function;
  }
  return node && node->name().find("AccumulateGrad") != std::string::npos;
}

}  // namespace

class WholeStorages::Storage {
 public:
  Storage(std::unique_ptr<StorageForm> form, at::ScalarType type)
      : form_(std::move(form)), type_(type) {}

  at::ScalarType type() const { return type_; }
  void add_save() { ++saves_; }
  void remove_save() { --saves_; }

  // The storage's numbers, for one of the saves.
  Tensor restored() {
    if (!restored_.defined()) {
      restored_ = form_->restore();
      waiting_ = saves_;
    }
    Tensor numbers = restored_;
    if (--waiting_ <= 0) restored_ = Tensor();
    return numbers;
  }

 private:
  std::unique_ptr<StorageForm> form_;
  at::ScalarType type_;
  int64_t saves_ = 0;    // not released yet
  int64_t waiting_ = 0;  // of these, the saves that wait for restored_
  Tensor restored_;
};

// One save.
class WholeStorages::View final : public PackedTensor {
 public:
  View(std::shared_ptr<Storage> storage, const Tensor& tensor)
      : storage_(std::move(storage)),
        sizes_(tensor.sizes().vec()),
        strides_(tensor.strides().vec()),
        offset_(tensor.storage_offset()) {
    storage_->add_save();
  }
  ~View() override { storage_->remove_save(); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  Tensor unpack() override {
    const torch::NoGradGuard no_grad;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    return storage_->restored().as_strided(sizes_, strides_, offset_);
  }

 private:
  std::shared_ptr<Storage> storage_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  int64_t offset_;
};

// A packed storage. Both sides are held weakly; the weak reference keeps the address from being
// reused by another storage.
struct WholeStorages::Known {
  c10::weak_intrusive_ptr<c10::StorageImpl> original;
  int64_t version;  // the storage may have been written to since
  std::weak_ptr<Storage> packed;
};

WholeStorages::WholeStorages(int64_t min_bytes) : min_bytes_(min_bytes) {}

WholeStorages::~WholeStorages() = default;

bool WholeStorages::takes(const Tensor& tensor) {
  if (!tensor.requires_grad() || tensor.layout() != at::kStrided || !tensor.has_storage()) {
    return false;
  }
  const auto bytes = static_cast<int64_t>(tensor.storage().nbytes());
  return bytes > 0 && bytes >= min_bytes_ && !is_parameters(tensor);
}

std::unique_ptr<PackedTensor> WholeStorages::pack(const Tensor& tensor) {
  c10::StorageImpl* const impl = tensor.storage().unsafeGetStorageImpl();
  if (static_cast<int64_t>(impl->nbytes()) < min_bytes_) return nullptr;
  const auto version = static_cast<int64_t>(tensor._version());
  const auto it = known_.find(impl);
  if (it != known_.end() && !it->second.original.expired() && it->second.version == version) {
    const std::shared_ptr<Storage> packed = it->second.packed.lock();
    if (packed && packed->type() == tensor.scalar_type()) {
      return std::make_unique<View>(packed, tensor);
    }
  }
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  auto packed = std::make_shared<Storage>(form_of(numbers_of(tensor)), tensor.scalar_type());
  forget_the_dead();
  known_.insert_or_assign(impl, Known{c10::weak_intrusive_ptr<c10::StorageImpl>(
                                          c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(impl)),
                                      version, packed});
  return std::make_unique<View>(std::move(packed), tensor);
}

void WholeStorages::forget_the_dead() {
  if (known_.size() < look_at_) return;
  std::erase_if(known_, [](const auto& entry) {
    return entry.second.original.expired() || entry.second.packed.expired();
  });
  look_at_ = std::max<size_t>(64, 2 * known_.size());
}

}  // namespace headroom
