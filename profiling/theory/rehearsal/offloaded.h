// Activations on the host, with shapes for tensors. Read beside train/offload/
// offloaded_activations.h. No torch here.
#pragma once

#include <memory>
#include <vector>

#include "profiling/theory/rehearsal/whole_shapes.h"
#include "train/offload/host_ranges.h"
#include "train/vocabulary/activations.h"

namespace headroom {

class OffloadedShapes final : public WholeShapes {
 public:
  OffloadedShapes(Run& run, const Activations& activations, int64_t layers);
  ~OffloadedShapes() override;

  bool takes_inputs() const override { return true; }
  bool takes(const ShapeTensor& tensor) const override;
  std::shared_ptr<PackedShape> pack(const ShapeTensor& tensor) override;
  int64_t host_bytes() const override { return host_.slab_bytes(); }

 private:
  class Moved;
  class Form;
  struct Unit {
    int64_t block = -1;
    std::vector<std::weak_ptr<Moved>> moved;
    bool fetched = false;
  };

  std::unique_ptr<ShapeForm> form_of(const ShapeTensor& tensor) override;
  size_t unit_of_a_save();
  void fetch(size_t unit);

  Run& run_;
  Activations activations_;
  int64_t layers_;
  HostRanges host_;
  std::vector<Unit> units_;
};

}  // namespace headroom
