// Saved tensors kept by storage: whole and once, however many nodes save it or views of it.
//
// Note [Whole storages]
// Rationale: a storage is saved by several nodes, as it is and as views. Kept in another form save
//   by save, it would be kept several times.
// Approach: the first save makes the storage's form; each save remembers its shape, strides and
//   offset and gets them back. A storage is restored when the first of its saves is needed, and
//   kept so until the last that was waiting then has had it, so that neighbours (the three
//   projections behind a norm) share one. What is alive restored would be alive without this class
//   too. Asked for is what all of this holds for:
//     - a storage of at least min_bytes;
//     - a gradient goes through it: tables and masks are none of these;
//     - it is no parameter, view of one, or cast of one. Casts live as long as autocast's cache
//       anyway, so that another form would add and not save.
// Limits: a storage that is kept alive by something else, or saved by one node in a way that is
//   taken and by another in one that is not, takes both forms. What lies in a storage beside the
//   saved view goes with it. One thread at a time saves.
#pragma once

#include <memory>
#include <unordered_map>

#include "model/torch.h"
#include "train/techniques/saved_tensors.h"

namespace headroom {

// What is kept of one storage.
class StorageForm {
 public:
  virtual ~StorageForm() = default;
  // Its numbers, as one vector of what they were. In backward, once or more often.
  virtual torch::Tensor restore() = 0;
};

class WholeStorages : public SavedTensors {
 public:
  explicit WholeStorages(int64_t min_bytes);
  ~WholeStorages() override;

  bool takes(const torch::Tensor& tensor) override;
  std::unique_ptr<PackedTensor> pack(const torch::Tensor& tensor) override;

 private:
  class Storage;
  class View;
  struct Known;

  // Of a whole storage, as one vector of the saved tensor's type.
  virtual std::unique_ptr<StorageForm> form_of(const torch::Tensor& numbers) = 0;
  void forget_the_dead();

  int64_t min_bytes_;
  std::unordered_map<const void*, Known> known_;  // by StorageImpl
  size_t look_at_ = 64;  // that many known: time to forget those that are gone
};

}  // namespace headroom
