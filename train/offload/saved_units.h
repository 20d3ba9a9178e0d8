// Which saves are on the card, and when they leave and come back. No torch here: the step and the
// rehearsal of theory follow the same books.
//
// Note [Units of saves]
// Rationale: what a block saved should be gone from the card soon and be back in time, a block at a
//   time: copies one by one would wait for each other.
// Approach: what one block saves is a unit, in the order in which they save; a save outside of any
//   block (the input of a checkpointed group) is one of its own. When a unit begins, the one before
//   the one before it leaves: on the card are at most the unit that saves and the one before it. In
//   backward the first use of a unit asks for all of the one before it, so that one is fetched
//   while one is used. What is still on the card when backward comes is used as it is.
// Several forwards: where others come before a forward's backward (the stages of a pipeline), each
//   forward and each backward is a pass, and nothing of one is a unit with, or fetched for, what is
//   of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headroom {

class SavedUnits {
 public:
  static constexpr int64_t kNoBlock = -1;
  // Units that have not left when backward begins.
  static constexpr int64_t kStillOnCard = 2;

  // What one save moves.
  class Moved {
   public:
    virtual ~Moved() = default;
    virtual void leave() = 0;
    virtual void fetch() = 0;  // nothing where it has not left
  };

  // The unit of a save that is made while `block` runs, or in none.
  size_t of_a_save(int64_t block);
  void add(size_t unit, const std::shared_ptr<Moved>& moved) {
    units_[unit].moved.push_back(moved);
  }

  // What is saved from now on is of another forward, or of another backward.
  void begin_pass() { ++pass_; }

  // Backward needs something of it.
  void use(size_t unit);

 private:
  struct Unit {
    int64_t block = kNoBlock;
    int64_t pass = 0;
    std::vector<std::weak_ptr<Moved>> moved;
    bool fetched = false;  // a first time
  };

  void fetch(Unit& unit);

  std::vector<Unit> units_;
  int64_t pass_ = 0;
};

}  // namespace headroom
