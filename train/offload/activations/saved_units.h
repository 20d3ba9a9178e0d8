// Tracks which saves are on the card, and when they leave and come back. No torch here: the step
// and theory's rehearsal use the same accounting.
//
// Note [Units of saves]
// Rationale: a block's saves should leave the card soon and be back in time, a block at a time:
//   single copies would wait for each other.
// Approach: the saves of one block are a unit, in the order of saving; a save outside all blocks
//   (the input of a checkpointed group) is its own unit. When a unit begins, the second to last
//   unit before it leaves: at most the saving unit and the one before it are on the card. In
//   backward the first use of a unit fetches the whole previous unit, so that one is fetched while
//   one is used. Saves that are still on the card in backward are used directly.
// Several forwards: if others come before a forward's backward (pipeline stages), each forward and
//   each backward is a pass. Units and fetches never span two passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headroom {

class SavedUnits {
 public:
  static constexpr int64_t kNoBlock = -1;
  // Number of units that have not left when backward begins.
  static constexpr int64_t kStillOnCard = 2;

  // The tensors of one save.
  class Moved {
   public:
    virtual ~Moved() = default;
    virtual void leave() = 0;
    virtual void fetch() = 0;  // does nothing if it has not left
  };

  // The unit of a save made while `block` runs, or outside all blocks.
  size_t of_a_save(int64_t block);
  void add(size_t unit, const std::shared_ptr<Moved>& moved) {
    units_[unit].moved.push_back(moved);
  }

  // Later saves belong to another forward, or to another backward.
  void begin_pass() { ++pass_; }

  // Fetches the unit for backward.
  void use(size_t unit);

 private:
  struct Unit {
    int64_t block = kNoBlock;
    int64_t pass = 0;
    std::vector<std::weak_ptr<Moved>> moved;
    bool fetched = false;  // at least once
  };

  void fetch(Unit& unit);

  std::vector<Unit> units_;
  int64_t pass_ = 0;
};

}  // namespace headroom
