// Which blocks' parameters are on the card, and when they come and go. No torch here: the step, the
// rehearsal of theory and its count of bytes over the link follow the same books.
//
// Note [Blocks that come and go]
// Rationale: a block's weights are wanted in forward, in backward and where a group of blocks is
//   computed again, one block after another; the next one's should be on their way meanwhile.
// Approach: whoever runs a block holds it; so does backward, from when the gradient of its output
//   is complete until that of the block before it is. What nobody holds goes, but for two: the last
//   block of a forward with a graph, as backward begins with it, and in backward the one before the
//   block whose backward runs. The one that comes next is fetched when a block begins: in forward
//   the next one; in backward the one before; where a group is computed again, the next one that
//   backward has not been through. Instead of one it may be several that come so, and stay for
//   backward, or none: then a block comes when it is held. Where blocks stay, all of a forward do
//   as its last one does. Where a pipeline's stage has several pieces of the model each is a row of
//   blocks of its own: its last one stays until its backward begins, and nothing is fetched for
//   another piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

class BlockPrefetcher {
 public:
  // stay: what a forward with a graph has fetched stays until backward is through with it.
  // ahead: blocks that are fetched before the one that begins has run.
  explicit BlockPrefetcher(bool stay = false, int64_t ahead = 1) : stay_(stay), ahead_(ahead) {}
  virtual ~BlockPrefetcher() = default;

  // The last block of each piece, where there are several.
  void end_at(const std::vector<int64_t>& last_blocks);
  // Whether a piece's first block is this one.
  bool is_first(int64_t index) const { return first_of_piece(index) == index; }

  // Before a step: the one before it may have failed in the middle, or had no backward.
  void begin_step();

  // A block runs. A run in backward is one that computes it again.
  void begin_run(int64_t index);
  void end_run(int64_t index, bool with_graph);

  // The gradient of its output is complete.
  void begin_backward(int64_t index);
  // That of the input of a piece's first one is.
  void end_backward();

  bool in_backward() const { return backward_ != kNone; }
  int64_t ahead() const { return ahead_; }

 protected:
  void add() { blocks_.emplace_back(); }  // one more, which is not there
  bool is_last(int64_t index) const { return end_of_piece(index) == index + 1; }
  int64_t count() const { return static_cast<int64_t>(blocks_.size()); }

  // Each is called where the block is not there, there, and there.
  virtual void fetch(int64_t index) = 0;
  virtual void drop(int64_t index) = 0;
  virtual void wait_for(int64_t /*index*/) {}  // somebody computes with it now

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
  // The earliest block that is fetched ahead of this one's backward; itself where none is.
  int64_t earliest_ahead(int64_t index) const;
  int64_t first_of_piece(int64_t index) const;
  int64_t end_of_piece(int64_t index) const;

  std::vector<Block> blocks_;
  bool stay_;
  int64_t ahead_;
  int64_t backward_ = kNone;  // the block whose backward runs
};

}  // namespace headroom
