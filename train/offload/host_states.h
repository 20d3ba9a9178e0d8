// Where the host's update keeps its numbers, wherever that is. No torch here.
//
// Note [Homes of the states]
// Rationale: the host's AdamW is the same whether its states lie in memory or in files; what
//   differs is when they are there.
// Approach: whoever keeps them (memory_states.h, disk/disk_states.h) brings them into memory piece
//   by piece, in an order that it is given, and takes back what became of them. A piece is some
//   numbers of one parameter; the pieces of a parameter come one after another, in ascending order.
// Limits: masters and both moments come and go together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headroom {

// States of some numbers of a parameter, in memory until `visit` returns.
struct StatesInMemory {
  int region = 0;     // index of the parameter
  int64_t first = 0;  // of the numbers, counted in the parameter
  int64_t numbers = 0;
  float* master = nullptr;
  float* m = nullptr;
  float* v = nullptr;
};

// What is kept in files takes, in bytes.
struct DiskFigures {
  int64_t files = 0;
  int64_t buffers = 0;  // of host memory, through which they go
  int64_t read = 0;     // so far
  int64_t written = 0;

  bool any() const { return files > 0; }
  DiskFigures operator+(const DiskFigures& more) const {
    return {files + more.files, buffers + more.buffers, read + more.read, written + more.written};
  }
};

class HostStates {
 public:
  using Visit = std::function<void(const StatesInMemory&)>;

  virtual ~HostStates() = default;

  // How many steps the states have seen; -1 where there are none yet and fill() comes first.
  virtual int64_t steps_done() const = 0;

  // The states before the first step: `masters` writes all masters that it is given; m and v begin
  // as zeros.
  virtual void fill(const Visit& masters) = 0;

  // Every state once, in the order of the parameters; changes are lost.
  virtual void read(const Visit& look) = 0;

  // One step. order: every parameter once, in the order in which they are to be updated.
  virtual void step(std::span<const int> order, const Visit& update) = 0;

  // All of them, a piece for each parameter, where they are in memory for good; else none.
  virtual std::vector<StatesInMemory> resident() const { return {}; }

  virtual DiskFigures disk() const { return {}; }
};

}  // namespace headroom
