// Activations on the host, with shapes for tensors. Read beside train/offload/
// offloaded_activations.h. No torch here.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "profiling/theory/rehearsal/techniques/whole_shapes.h"
#include "train/offload/activations/saved_units.h"
#include "train/offload/states/host_ranges.h"
#include "train/settings/vocabulary/activations.h"

namespace headroom {

class OffloadedShapes final : public WholeShapes {
 public:
  OffloadedShapes(Run& run, const Activations& activations, int64_t layers);
  ~OffloadedShapes() override;

  void end_at(std::vector<int64_t> last_blocks) { last_blocks_ = std::move(last_blocks); }

  void begin_forward(bool backward_follows) override;
  void begin_backward() override { begin_forward(/*backward_follows=*/true); }
  bool takes_inputs() const override { return true; }
  bool takes(const ShapeTensor& tensor) const override;
  std::shared_ptr<PackedShape> pack(const ShapeTensor& tensor) override;
  int64_t host_bytes() const override { return host_.slab_bytes(); }

 private:
  class Moved;
  class Form;

  bool is_last() const;
  std::unique_ptr<ShapeForm> form_of(const ShapeTensor& tensor) override;

  Run& run_;
  Activations activations_;
  std::vector<int64_t> last_blocks_;
  bool backward_follows_ = true;
  HostRanges host_;
  SavedUnits units_;
};

}  // namespace headroom
