// Tracks which blocks' parameters are on the card, and when they come and go. No torch here: the
// step, theory's rehearsal and its count of bytes over the link use the same accounting.
//
// Note [Blocks that come and go]
// Rationale: a block's weights are needed in forward, in backward and in recomputation, one block
//   after another; the next block's should be on their way meanwhile.
// Approach: a running block is held; backward also holds a block, from when the gradient of its
//   output is complete until that of the previous block is. Blocks that nothing holds are dropped,
//   with two exceptions: the last block of a forward with a graph, because backward begins with it,
//   and in backward the block before the current one. When a block begins, the next one is fetched:
//   in forward the following block; in backward the previous one; in a recomputed group the
//   following one, if backward still needs it. `ahead` can make that several blocks, which then
//   stay for backward, or none: then a block is fetched when it is held. With `stay`, all blocks of
//   a forward stay like its last one. On a pipeline stage with several pieces of the model, each
//   piece is a separate row of blocks: its last block stays until its backward begins, and nothing
//   is fetched for another piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

class BlockPrefetcher {
 public:
  // stay: blocks that a forward with a graph has fetched stay until their backward has ended.
  // ahead: number of blocks to fetch ahead of the running one.
  explicit BlockPrefetcher(bool stay = false, int64_t ahead = 1) : stay_(stay), ahead_(ahead) {}
  virtual ~BlockPrefetcher() = default;

  // Sets the last block of each piece, if there are several.
  void end_at(const std::vector<int64_t>& last_blocks);
  // True if this block is the first of a piece.
  bool is_first(int64_t index) const { return first_of_piece(index) == index; }

  // Call before a step: the previous one may have failed midway, or had no backward.
  void begin_step();

  // A block begins to run. A run during backward is a recomputation.
  void begin_run(int64_t index);
  void end_run(int64_t index, bool with_graph);

  // The gradient of the block's output is complete.
  void begin_backward(int64_t index);
  // The gradient of the input of a piece's first block is complete.
  void end_backward();

  bool in_backward() const { return backward_ != kNone; }
  int64_t ahead() const { return ahead_; }

 protected:
  void add() { blocks_.emplace_back(); }  // adds a block, not fetched yet
  bool is_last(int64_t index) const { return end_of_piece(index) == index + 1; }
  int64_t count() const { return static_cast<int64_t>(blocks_.size()); }

  // fetch() is called only for an absent block, drop() and wait_for() only for a present one.
  virtual void fetch(int64_t index) = 0;
  virtual void drop(int64_t index) = 0;
  virtual void wait_for(int64_t /*index*/) {}  // a computation needs it now

 private:
  struct Block {
    bool is_there = false;
    int64_t holders = 0;
    bool ends_piece = false;
  };
  static constexpr int64_t kNone = -1;

  Block& at(int64_t index) { return blocks_[static_cast<size_t>(index)]; }
  void bring(int64_t index);
  void hold(int64_t index);
  void let_go(int64_t index);
  bool is_next_in_backward(int64_t index) const;
  // The earliest block fetched ahead of this one's backward; itself if none.
  int64_t earliest_ahead(int64_t index) const;
  int64_t first_of_piece(int64_t index) const;
  int64_t end_of_piece(int64_t index) const;

  std::vector<Block> blocks_;
  bool stay_;
  int64_t ahead_;
  int64_t backward_ = kNone;  // the block whose backward runs
};

}  // namespace headroom
