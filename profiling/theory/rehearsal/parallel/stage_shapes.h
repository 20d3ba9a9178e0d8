// A pipeline stage's part of a model, and its schedule, with shapes for tensors. Read beside
// train/parallel/pipeline/pipeline.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "profiling/theory/rehearsal/run.h"
#include "train/parallel/pipeline/schedule.h"
#include "train/settings/spec.h"

namespace headroom {

struct Parameter;

// The parts of a stage's step, like Task in train/schedule/task.h.
struct StageShapeCalls {
  std::function<ShapeTensor(int64_t chunk, int64_t micro_batch, const ShapeTensor& x)> forward;
  std::function<void(ShapeTensor& output, const ShapeTensor& gradient, bool last)> backward;
  std::function<void(const ShapeTensor& loss)> with_loss;
};

class StageShapes {
 public:
  // In a mesh of one stage it is the whole model.
  StageShapes(const RunSpec& spec, int64_t rank);

  bool is_one_of_several() const { return stages_ > 1; }
  bool has_table() const { return stage_ == 0; }
  bool has_head() const { return stage_ + 1 == stages_; }
  bool has_layer(int64_t layer) const;
  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }
  bool is_first(int64_t chunk) const { return piece(chunk) == 0; }
  bool is_last(int64_t chunk) const { return piece(chunk) + 1 == pieces(); }
  // The blocks of a chunk, counted among those of this stage.
  LayerSpan blocks(int64_t chunk) const { return blocks_[static_cast<size_t>(chunk)]; }

  std::vector<int64_t> last_blocks() const;
  // Like Pipeline's.
  bool backward_follows() const { return backward_follows_; }

  // One step. sizes, dtype: of what goes from piece to piece.
  void run(Run& run, const Dims& sizes, DType dtype, const StageShapeCalls& calls);

 private:
  using Key = std::pair<int64_t, int64_t>;  // chunk, micro-batch
  struct Kept {
    std::unique_ptr<Parameter> input;
    ShapeTensor output;
  };

  int64_t pieces() const { return stages_ * chunks_; }
  int64_t piece(int64_t chunk) const { return chunk * stages_ + stage_; }
  void forward(Run& run, const Action& action, const Dims& sizes, DType dtype,
               const StageShapeCalls& calls);
  void backward(Run& run, const Action& action, const Dims& sizes, DType dtype,
                const StageShapeCalls& calls);
  void send(const ShapeTensor& tensor);
  bool is_last(const Action& action) const { return action.micro_batch + 1 == micro_batches_; }

  int64_t stages_, stage_, chunks_, micro_batches_;
  std::vector<int64_t> layers_;
  std::vector<LayerSpan> blocks_;
  std::vector<Action> actions_;
  bool backward_follows_ = false;
  std::map<Key, Kept> kept_;
  ShapeTensor leaving_;
};

}  // namespace headroom
