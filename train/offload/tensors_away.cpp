#include "train/offload/tensors_away.h"

#include <algorithm>

namespace headroom {

using torch::Tensor;

namespace {

// The whole storage as the queue's bytes.
Tensor bytes_of(const c10::Storage& storage) {
  const auto options = torch::dtype(torch::kUInt8).device(storage.device());
  return torch::empty({0}, options).set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
}

std::vector<c10::Storage> storages_of(const std::vector<Tensor>& tensors) {
  std::vector<c10::Storage> found;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.storage().data() == nullptr) continue;
    const c10::Storage& storage = tensor.storage();
    const bool known = std::any_of(found.begin(), found.end(), [&](const c10::Storage& other) {
      return other.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl();
    });
    if (!known && storage.nbytes() > 0) found.push_back(storage);
  }
  return found;
}

}  // namespace

void TensorsAway::leave(const std::vector<Tensor>& tensors) {
  if (are_away()) return;
  std::vector<c10::Storage> leaving = storages_of(tensors);
  const bool copies = numbers_ == Numbers::kChange || host_buffers_.empty();
  TORCH_INTERNAL_ASSERT(copies || host_buffers_.size() == leaving.size());
  host_buffers_.resize(leaving.size());
  home_bytes_.resize(leaving.size(), 0);
  for (size_t i = 0; i < leaving.size(); ++i) {
    const auto bytes = static_cast<int64_t>(leaving[i].nbytes());
    if (home_bytes_[i] == bytes) continue;
    host_buffers_[i].reset();  // an optimizer's state may have changed size
    host_buffers_[i] = arena_->take(bytes);
    home_bytes_[i] = bytes;
  }
  std::vector<std::unique_ptr<Copy>> on_the_way;
  for (size_t i = 0; copies && i < leaving.size(); ++i) {
    on_the_way.push_back(copies_->out(bytes_of(leaving[i]), host_buffers_[i]));
  }
  for (const auto& copy : on_the_way) copy->wait();
  for (const c10::Storage& storage : leaving) {
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(c10::DataPtr(nullptr, storage.device()));
  }
  away_ = std::move(leaving);
}

void TensorsAway::come_back() {
  for (const c10::Storage& storage : away_) {
    c10::Allocator* const allocator = c10::GetAllocator(storage.device_type());
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(allocator->allocate(storage.nbytes()));
  }
  std::vector<std::unique_ptr<Copy>> on_the_way;
  for (size_t i = 0; i < away_.size(); ++i) {
    on_the_way.push_back(copies_->in(host_buffers_[i], bytes_of(away_[i])));
  }
  for (const auto& copy : on_the_way) copy->wait();
  away_.clear();
}

}  // namespace headroom
