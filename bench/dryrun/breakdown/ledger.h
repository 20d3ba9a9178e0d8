// The blocks of one device, and their uses at the peak of each step. No torch here.
//
// Note [Breakdown]
// Rationale: the use of a block follows from its whole life. A tensor made in forward is an
//   activation if backward frees it, and a temporary if forward does.
// Approach: a window of events (a step of the optimizer) keeps its blocks, live and freed. At its
//   end the blocks that were live at its peak are counted by category, module, line and operation:
//   owners have named their blocks by then (parameters, gradients, states), and the rest follows
//   from Life. Only the counts stay, of the whole run's highest window in full.
// Limits: a window is cut after kMostEvents, so that memory is bounded; the longest lives are then
//   counted early.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "bench/dryrun/breakdown/category.h"

namespace headroom {

inline constexpr size_t kMostEvents = size_t{1} << 20;

// The circumstances of an allocation; numbers are of Names, 0: unknown.
struct Origin {
  Phase phase = Phase::kOutside;
  Hint hint = Hint::kNone;
  bool has_grad_mode = false;
  bool in_pool = false;
  uint32_t module = 0;
  uint32_t operation = 0;
  uint32_t place = 0;  // a line of the program
  uint64_t call = 0;   // of the module
};

// Blocks with equal properties.
struct RowKey {
  Category category;
  Phase phase;
  uint32_t owner;  // the module, or the optimizer
  uint32_t operation;
  uint32_t place;
  Reason reason;  // of kNotAttributed
  auto operator<=>(const RowKey&) const = default;
};
struct RowSum {
  int64_t bytes = 0;  // as requested
  int64_t blocks = 0;
};

// The live memory of an instant. The sum of `rows` is `allocated`, to the byte.
struct Instant {
  int64_t allocated = 0;
  int64_t reserved = 0;
  std::map<RowKey, RowSum> rows;
};
std::vector<int64_t> by_category(const Instant& instant);

struct StepSum {
  uint32_t owner = 0;  // the optimizer; 0: after the last step
  int64_t first = 0;   // steps that were equal, from the first to the last
  int64_t last = 0;
  int64_t peak = 0;
  int64_t live_after = 0;
  std::vector<int64_t> categories;  // at the peak
  bool is_equal_to(const StepSum& other) const;
};

// The state of the whole process, which all devices share.
struct Moment {
  bool in_backward = false;
  bool in_optimizer = false;
  uint64_t backwards = 0;  // begun until now
};

class Ledger {
 public:
  // is_over(call): the module's forward has returned.
  using IsOver = bool (*)(uint64_t call);
  // sees_modules: false where nothing tells which module's forward runs.
  explicit Ledger(IsOver is_over, bool sees_modules = true)
      : is_over_(is_over), sees_modules_(sees_modules) {}

  void allocate(uintptr_t address, int64_t bytes, int64_t requested, const Origin& origin,
                const Moment& now);
  void release(uintptr_t address, const Moment& now);
  void set_totals(int64_t allocated, int64_t reserved, const Moment& now);

  // Names the owner of the block that contains `address`. The first purpose counts; of several
  // owners `several` is the name.
  void tag(uintptr_t address, Category purpose, uint32_t owner, uint32_t several);
  // The program's own words: they count more than all tags, which give an owner where the program
  // names none (0). False if no block is there.
  bool name(uintptr_t address, Category purpose, uint32_t owner);

  void end_step(uint32_t owner, const Moment& now);
  void finish(const Moment& now);
  Instant now(const Moment& now) const;

  const Instant& peak() const { return peak_; }
  int64_t peak_step() const { return peak_step_; }
  const std::vector<StepSum>& steps() const { return steps_; }

 private:
  struct Block {
    uintptr_t address = 0;
    int64_t bytes = 0;
    int64_t requested = 0;
    Origin origin;
    Category tag = Category::kNotAttributed;
    uint32_t owner = 0;
    uint64_t backwards = 0;  // begun at its birth; at its death, later
    uint64_t last_backwards = 0;
    bool is_named = false;  // by the program
    bool has_named_owner = false;
    bool is_live = true;
    bool is_call_over = false;  // at its death
    bool died_in_backward = false;
    size_t end = 0;  // the event of its death, in the window in which it died
  };
  using Shared = std::shared_ptr<Block>;
  struct Event {
    Shared block;
    bool is_free = false;
  };

  Block* block_at(uintptr_t address);  // null: none is live there
  bool is_over(const Block& block, const Moment& now) const;
  Life life_of(const Block& block, const Moment& now) const;
  void add(Instant& instant, const Block& block, const Moment& now) const;
  static void settle(Instant& instant);
  Instant at_peak(const Moment& now) const;
  void close_window(const Moment& now);
  void begin_window();

  IsOver is_over_;
  bool sees_modules_;
  std::map<uintptr_t, Shared> live_;
  std::vector<Shared> at_start_;  // of the window
  std::vector<Event> events_;
  size_t peak_events_ = 0;  // until the peak of the window
  int64_t window_peak_ = 0;
  int64_t window_reserved_ = 0;
  int64_t allocated_ = 0;
  int64_t reserved_ = 0;

  StepSum step_;  // the current one, with what cut windows of it have shown
  Instant peak_;
  int64_t peak_step_ = 0;
  int64_t step_number_ = 1;
  std::vector<StepSum> steps_;
};

}  // namespace headroom
