// A model shared by its replicas, with shapes for tensors. Read beside
// train/parallel/data/fully_sharded.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "profiling/theory/rehearsal/parallel/unit_shapes.h"
#include "train/offload/blocks/block_prefetcher.h"

namespace headroom {

class ShardShapes final : public BlockPrefetcher {
 public:
  ShardShapes(Run& run, const RunSpec& spec, int64_t rank);

  // A block that has just been made; then what else the model has, either of them perhaps nothing.
  void take_block(const std::vector<Parameter*>& block);
  void take_rest(const std::vector<Parameter*>& table, const std::vector<Parameter*>& head);

  std::vector<Parameter*> pieces();
  // How a part is cut: of each unit that is unlike the one before it its pieces, as parameter and
  // length.
  using Cuts = std::vector<std::pair<size_t, int64_t>>;
  Cuts cuts(int64_t part) const;
  // block(x_BSD), with the block's parameters there.
  ShapeTensor run(int64_t index, const ShapeTensor& x_BSD,
                  const std::function<ShapeTensor(const ShapeTensor&)>& block);

  void send_to(const std::function<void(Parameter&)>& sink);
  void begin_step();
  void begin_forward();
  void begin_backward(bool last);
  void begin_backward_of_loss();
  void end_backward();
  void finish();
  void end_update();

 private:
  UnitShapes& block(int64_t index) { return *blocks_[static_cast<size_t>(index)]; }
  UnitShapes* share(const char* name, const std::vector<Parameter*>& parameters);
  void fetch(int64_t index) override { block(index).fetch(); }
  void drop(int64_t index) override { block(index).drop(); }
  void wait_for(int64_t index) override;
  void settle_sums();
  void completed(UnitShapes& unit, size_t parameter);

  Run& run_;
  int64_t zero_;
  bool has_copies_ = false;
  int64_t parts_ = 1;  // of every unit, of which this replica has one
  int64_t part_ = 0;
  std::vector<std::unique_ptr<UnitShapes>> units_;  // the token table, every block, the head
  std::vector<UnitShapes*> blocks_;
  UnitShapes* table_ = nullptr;
  UnitShapes* head_ = nullptr;
  UnitShapes* with_table_ = nullptr;
  std::vector<UnitShapes*> adding_up_;
  bool gives_ = false;
};

}  // namespace headroom
