// Saved tensors kept by storage: whole and once, however many nodes save it or its views.
//
// Note [Whole storages]
// Rationale: several nodes save one storage, directly and as views. Packed once per save, it would
//   be kept several times.
// Approach: the first save makes the storage's form; each save remembers its shape, strides and
//   offset and gets them back. A storage is restored when the first of its saves is needed, and
//   stays restored until every save waiting at that time has used it, so that neighbours (the three
//   projections behind a norm) share one copy. A live restored copy would be live without this
//   class too. A tensor is packed if all of this holds:
//     - its storage has at least min_bytes;
//     - a gradient goes through it, unlike tables and masks;
//     - it is not a parameter, a view of one, or a cast of one. Casts live as long as autocast's
//       cache anyway, so packing would add memory.
// Limits: a storage that something else keeps alive, or that is saved both packed and unpacked,
//   takes memory twice. The rest of a saved view's storage is kept with it. One thread at a time
//   saves.
#pragma once

#include <memory>
#include <unordered_map>

#include "model/torch.h"
#include "train/techniques/activations/saved_tensors.h"

namespace headroom {

// The kept form of one storage.
class StorageForm {
 public:
  virtual ~StorageForm() = default;
  // The numbers, as one vector of their original type. In backward, once or more often.
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

  // Makes the form of a whole storage, given as one vector of the saved tensor's type.
  virtual std::unique_ptr<StorageForm> form_of(const torch::Tensor& numbers) = 0;
  void forget_the_dead();

  int64_t min_bytes_;
  std::unordered_map<const void*, Known> known_;  // by StorageImpl
  size_t look_at_ = 64;                           // at this many entries, erase the dead ones
};

}  // namespace headroom
