// Saved tensors kept by storage, with shapes for tensors. Read beside
// train/techniques/activations/whole_storages.h. No torch here.
#pragma once

#include <memory>
#include <unordered_map>

#include "profiling/theory/rehearsal/techniques/saved.h"

namespace headroom {

class ShapeForm {
 public:
  virtual ~ShapeForm() = default;
  virtual ShapeTensor restore() = 0;
};

class WholeShapes : public SavedShapes {
 public:
  explicit WholeShapes(int64_t min_bytes);
  ~WholeShapes() override;

  bool takes(const ShapeTensor& tensor) const override;
  std::shared_ptr<PackedShape> pack(const ShapeTensor& tensor) override;

 private:
  class Whole;
  class View;
  struct Known;

  // For the storage of a tensor.
  virtual std::unique_ptr<ShapeForm> form_of(const ShapeTensor& tensor) = 0;
  void forget_the_dead();

  int64_t min_bytes_;
  std::unordered_map<const Storage*, Known> known_;
  size_t look_at_ = 64;  // that many known: time to forget those that are gone
};

}  // namespace headroom
