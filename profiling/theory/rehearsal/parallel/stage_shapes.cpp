#include "profiling/theory/rehearsal/parallel/stage_shapes.h"

#include <algorithm>

#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/parallel/moved_shapes.h"
#include "train/parallel/pipeline/next_action.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

ShapeTensor received(Run& run, const char* phase, const char* group, const Dims& sizes,
                     DType dtype) {
  run.memory.site = {.phase = phase, .operation = "receive"};
  run.memory.group = group;
  return empty(run, sizes, dtype);
}

}  // namespace

StageShapes::StageShapes(const RunSpec& spec, int64_t rank)
    : stages_(spec.mesh.size(MeshAxis::kPipeline)),
      stage_(spec.mesh.place(rank, MeshAxis::kPipeline)),
      chunks_(spec.schedule.chunks),
      micro_batches_(passes(spec)),
      actions_(actions_of(spec.schedule, stages_, stage_, micro_batches_)) {
  const int64_t all = model_config(spec).layers;
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const LayerSpan span = layers_of_piece(all, pieces(), piece(chunk));
    const int64_t first = layers();
    for (int64_t layer = span.first; layer < span.end; ++layer) layers_.push_back(layer);
    blocks_.push_back({first, layers()});
  }
}

bool StageShapes::has_layer(int64_t layer) const {
  return std::find(layers_.begin(), layers_.end(), layer) != layers_.end();
}

std::vector<int64_t> StageShapes::last_blocks() const {
  std::vector<int64_t> last;
  for (const LayerSpan& span : blocks_) last.push_back(span.end - 1);
  return last;
}

void StageShapes::run(Run& run, const Dims& sizes, DType dtype, const StageShapeCalls& calls) {
  for (const Action& action : actions_) {
    if (action.kind == ActionKind::kForward) {
      backward_follows_ = headroom::backward_follows(actions_, action);
      forward(run, action, sizes, dtype, calls);
    } else {
      backward(run, action, sizes, dtype, calls);
    }
  }
  leaving_ = {};
}

void StageShapes::forward(Run& run, const Action& action, const Dims& sizes, DType dtype,
                          const StageShapeCalls& calls) {
  Kept kept;
  if (!is_first(action.chunk)) {
    kept.input = std::make_unique<Parameter>();
    kept.input->value = received(run, "forward", kActivations, sizes, dtype);
    kept.input->value.made_by = accumulate_grad(*kept.input, -1);
  }
  kept.output = calls.forward(action.chunk, action.micro_batch,
                              kept.input ? kept.input->value : ShapeTensor());
  if (!is_last(action.chunk)) send(contiguous(kept.output.detach()));
  kept_[{action.chunk, action.micro_batch}] = std::move(kept);
}

void StageShapes::backward(Run& run, const Action& action, const Dims& sizes, DType dtype,
                           const StageShapeCalls& calls) {
  const auto found = kept_.find({action.chunk, action.micro_batch});
  Kept kept = std::move(found->second);
  kept_.erase(found);
  ShapeTensor gradient;
  if (!is_last(action.chunk)) gradient = received(run, "backward", kTemporaries, sizes, dtype);
  calls.backward(kept.output, gradient, is_last(action));
  if (is_last(action.chunk)) calls.with_loss(kept.output);
  if (!is_first(action.chunk)) send(contiguous(kept.input->gradient));
}

// Earlier sends are complete by then.
void StageShapes::send(const ShapeTensor& tensor) {
  leaving_ = tensor;
  count_moved(*tensor.run, {MeshAxis::kPipeline, Collective::kSend}, "x_BsD", "B*s*D", tensor.sizes,
              tensor.dtype);
}

}  // namespace headroom
