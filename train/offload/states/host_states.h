// Storage of the host update's states, in memory or in files. No torch here.
//
// Note [Homes of the states]
// Rationale: the host's AdamW is the same for states in memory and in files; only the time when
//   they are available differs.
// Approach: the storage (memory_states.h, disk/disk_states.h) brings states into memory piece by
//   piece, in a given order, and stores them again after the update. A piece is some numbers of one
//   parameter; a parameter's pieces are consecutive, in ascending order.
// Limits: masters and both moments come and go together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headroom {

// States of some numbers of a parameter, valid until `visit` returns.
struct StatesInMemory {
  int region = 0;     // index of the parameter
  int64_t first = 0;  // first number's index in the parameter
  int64_t numbers = 0;
  float* master = nullptr;
  float* m = nullptr;
  float* v = nullptr;
};

// Sizes and traffic of the files, in bytes.
struct DiskFigures {
  int64_t files = 0;
  int64_t buffers = 0;  // host memory that the data passes through
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

  // Number of steps in the states; -1 if there are none yet and fill() must come first.
  virtual int64_t steps_done() const = 0;

  // Makes the states before the first step: `masters` must write all masters it is given; m and v
  // begin as zeros.
  virtual void fill(const Visit& masters) = 0;

  // Visits every state once, in the order of the parameters; changes are lost.
  virtual void read(const Visit& look) = 0;

  // Runs one step. order: every parameter once, in the order of the updates.
  virtual void step(std::span<const int> order, const Visit& update) = 0;

  // All states, a piece for each parameter, if they stay in memory; else none.
  virtual std::vector<StatesInMemory> resident() const { return {}; }

  virtual DiskFigures disk() const { return {}; }
};

}  // namespace headroom
