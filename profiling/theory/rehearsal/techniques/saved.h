// The forms of the tensors that nodes save, with shapes for tensors. Read beside
// train/techniques/activations/saved_tensors.h. No torch here.
#pragma once

#include <memory>

#include "profiling/theory/rehearsal/operations/tensor.h"

namespace headroom {

// One saved tensor, in whatever form it is kept.
class PackedShape {
 public:
  virtual ~PackedShape() = default;
  virtual ShapeTensor unpack() = 0;
};

class SavedShapes {
 public:
  virtual ~SavedShapes() = default;
  // For a tensor that is still in its graph.
  virtual bool takes(const ShapeTensor& /*tensor*/) const { return true; }
  virtual bool takes_inputs() const { return false; }
  virtual std::shared_ptr<PackedShape> pack(const ShapeTensor& tensor) = 0;  // null: as it is
  // Like SavedTensors'.
  virtual void begin_forward(bool /*backward_follows*/) {}
  virtual void begin_backward() {}
  // Bytes of host memory that it holds from step to step.
  virtual int64_t host_bytes() const { return 0; }
};

// While alive, what operations save goes through `saves`; null: as it is.
class RehearsedSaving {
 public:
  RehearsedSaving(Run& run, SavedShapes* saves);
  ~RehearsedSaving();
  RehearsedSaving(const RehearsedSaving&) = delete;
  RehearsedSaving& operator=(const RehearsedSaving&) = delete;

 private:
  Run& run_;
  SavedShapes* outer_;
};

// A tensor as a node keeps it, copies of a Saved together.
class Saved {
 public:
  Saved() = default;  // of nothing
  explicit Saved(const ShapeTensor& tensor);
  ShapeTensor unpack() const { return packed_ ? packed_->unpack() : tensor_; }

 private:
  friend Saved save_input(const ShapeTensor& tensor);

  ShapeTensor tensor_;
  std::shared_ptr<PackedShape> packed_;
};

inline Saved save_if(bool asked, const ShapeTensor& tensor) {
  return asked ? Saved(tensor) : Saved();
}

// Like save(), for the inputs of a recomputation.
Saved save_input(const ShapeTensor& tensor);

}  // namespace headroom
