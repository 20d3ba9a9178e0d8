// A set of a model's blocks. No torch here.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom {

// Blocks are numbered from 0 at the input.
class Blocks {
 public:
  Blocks() = default;  // none
  static Blocks all(int64_t layers);
  static Blocks every(int64_t step, int64_t layers);  // 0, step, 2 step, ...

  bool contains(int64_t block) const;
  bool empty() const { return numbers_.empty(); }
  int64_t count() const { return static_cast<int64_t>(numbers_.size()); }
  int64_t first() const { return numbers_.front(); }
  Blocks without(const Blocks& others) const;
  Blocks within(const Blocks& others) const { return without(without(others)); }
  Blocks moved(int64_t by) const;  // shifted; numbers below 0 are dropped
  Blocks last(int64_t count) const;
  void add(int64_t block) { numbers_.push_back(block); }  // later than all others

  bool operator==(const Blocks&) const = default;

 private:
  std::vector<int64_t> numbers_;  // ascending
};

}  // namespace headroom
