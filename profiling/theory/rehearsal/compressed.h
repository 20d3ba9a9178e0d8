// Activations in 8 bit, with shapes for tensors. Read beside train/techniques/
// compressed_activations.h and quantize.h. No torch here.
#pragma once

#include <memory>
#include <unordered_map>

#include "profiling/theory/rehearsal/saved.h"
#include "train/vocabulary/activations.h"

namespace headroom {

class CompressedShapes final : public SavedShapes {
 public:
  // `form` is not kExact.
  explicit CompressedShapes(const Activations& activations);
  ~CompressedShapes() override;

  bool takes(const ShapeTensor& tensor) const override;
  std::shared_ptr<PackedShape> pack(const ShapeTensor& tensor) override;

 private:
  class Whole;
  class View;
  struct Known;
  void forget_the_dead();

  Activations activations_;
  std::unordered_map<const Storage*, Known> known_;
  size_t look_at_ = 64;  // that many known: time to forget those that are gone
};

}  // namespace headroom
