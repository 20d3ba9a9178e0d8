#include "train/techniques/activations/apply_activations.h"

#include <memory>
#include <utility>

#include "train/offload/activations/offloaded_activations.h"
#include "train/techniques/activations/compressed_activations.h"

namespace headroom {

void apply_activations(const BuildRequest& request, Step& step) {
  const Activations& setting = request.spec.activations;
  if (setting.exact() || !builds_graph(request.spec.profile_type)) return;
  CompiledPacking packing = compiled_packing(request.spec, request.device);
  if (!setting.offloaded()) {
    step.saved = std::make_shared<CompressedActivations>(setting, std::move(packing));
    return;
  }
  const auto offloaded = std::make_shared<OffloadedActivations>(
      setting, request.device, request.config.layers, request.copies);
  offloaded->pack_by(std::move(packing));
  if (!step.layout.last_blocks.empty()) offloaded->end_at(step.layout.last_blocks);
  step.run_block = offloaded->around(std::move(step.run_block));
  step.saved = offloaded;
  step.hooks.add(offloaded);
}

}  // namespace headroom
