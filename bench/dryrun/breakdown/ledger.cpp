#include "bench/dryrun/breakdown/ledger.h"

#include <algorithm>
#include <span>
#include <utility>

namespace headroom {
namespace {

constexpr size_t kMostSteps = 10000;  // that differ from the one before

RowKey unowned(Category category, Reason reason) {
  return {.category = category,
          .phase = Phase::kOutside,
          .owner = 0,
          .operation = 0,
          .place = 0,
          .reason = reason};
}

}  // namespace

std::vector<int64_t> by_category(const Instant& instant) {
  std::vector<int64_t> sums(kCategories, 0);
  for (const auto& [key, sum] : instant.rows) sums[static_cast<size_t>(key.category)] += sum.bytes;
  return sums;
}

bool StepSum::is_equal_to(const StepSum& other) const {
  return owner == other.owner && peak == other.peak && live_after == other.live_after &&
         categories == other.categories;
}

void Ledger::allocate(uintptr_t address, int64_t bytes, int64_t requested, const Origin& origin,
                      const Moment& now) {
  auto block = std::make_shared<Block>();
  block->address = address;
  block->bytes = bytes;
  block->requested = requested;
  block->origin = origin;
  block->backwards = now.backwards;
  live_[address] = block;
  events_.push_back({std::move(block), false});
}

void Ledger::release(uintptr_t address, const Moment& now) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  Block& block = *found->second;
  block.is_live = false;
  block.last_backwards = now.backwards;
  block.died_in_backward = now.in_backward;
  block.is_call_over = is_over(block, now);
  block.end = events_.size();
  events_.push_back({found->second, true});
  live_.erase(found);
}

void Ledger::set_totals(int64_t allocated, int64_t reserved, const Moment& now) {
  allocated_ = allocated;
  reserved_ = reserved;
  if (allocated > window_peak_) {
    window_peak_ = allocated;
    window_reserved_ = reserved;
    peak_events_ = events_.size();
  }
  if (events_.size() >= kMostEvents) close_window(now);
}

Ledger::Block* Ledger::block_at(uintptr_t address) {
  auto found = live_.upper_bound(address);
  if (found == live_.begin()) return nullptr;
  Block& block = *(--found)->second;
  return address < block.address + static_cast<uintptr_t>(block.bytes) ? &block : nullptr;
}

void Ledger::tag(uintptr_t address, Category purpose, uint32_t owner, uint32_t several) {
  Block* const block = block_at(address);
  if (block == nullptr || block->has_named_owner) return;
  if (block->tag == Category::kNotAttributed) {
    block->tag = purpose;
    block->owner = owner;
  } else if (block->tag == purpose && block->owner != owner) {
    block->owner = block->owner == 0 ? owner : several;
  }
}

bool Ledger::name(uintptr_t address, Category purpose, uint32_t owner) {
  Block* const block = block_at(address);
  if (block == nullptr) return false;
  if (block->tag != purpose || owner != 0) block->owner = owner;
  block->tag = purpose;
  block->is_named = true;
  block->has_named_owner = owner != 0;
  return true;
}

bool Ledger::is_over(const Block& block, const Moment& now) const {
  switch (block.origin.phase) {
    case Phase::kBackward:
      return !now.in_backward || now.backwards > block.backwards;
    case Phase::kOptimizer:
      return !now.in_optimizer;
    default:
      return is_over_(block.origin.call);
  }
}

Life Ledger::life_of(const Block& block, const Moment& now) const {
  const Origin& origin = block.origin;
  const uint64_t until = block.is_live ? now.backwards : block.last_backwards;
  return {.tag = block.tag,
          .born = origin.phase,
          .hint = origin.hint,
          .has_grad_mode = origin.has_grad_mode,
          .has_module = origin.module != 0,
          .in_pool = origin.in_pool,
          .is_live = block.is_live,
          .is_call_over = block.is_live ? is_over(block, now) : block.is_call_over,
          .died_in_backward = block.died_in_backward,
          .outlived_forward = until > block.backwards};
}

void Ledger::add(Instant& instant, const Block& block, const Moment& now) const {
  const Life life = life_of(block, now);
  RowKey key{.category = category_of(life),
             .phase = block.origin.phase,
             .owner = block.owner != 0 || block.tag == Category::kWorkspaces ? block.owner
                                                                             : block.origin.module,
             .operation = block.origin.operation,
             .place = block.origin.place,
             .reason = Reason::kNone};
  if (key.category == Category::kNotAttributed) key.reason = Reason::kOptimizer;
  if (key.category == Category::kProgram && !sees_modules_ && !block.is_named) {
    key.category = Category::kNotAttributed;
    key.reason = Reason::kNoModules;
  }
  RowSum& sum = instant.rows[key];
  sum.bytes += block.requested;
  ++sum.blocks;
  if (block.bytes == block.requested) return;
  RowSum& rounding = instant.rows[unowned(Category::kRounding, Reason::kNone)];
  rounding.bytes += block.bytes - block.requested;
  ++rounding.blocks;
}

// The allocator's total is the truth: a difference is a row.
void Ledger::settle(Instant& instant) {
  int64_t rest = instant.allocated;
  for (const auto& [key, sum] : instant.rows) rest -= sum.bytes;
  if (rest == 0) return;
  instant.rows[unowned(Category::kNotAttributed, Reason::kNoEvent)].bytes += rest;
}

Instant Ledger::now(const Moment& now) const {
  Instant instant{.allocated = allocated_, .reserved = reserved_, .rows = {}};
  for (const auto& [address, block] : live_) add(instant, *block, now);
  settle(instant);
  return instant;
}

Instant Ledger::at_peak(const Moment& now) const {
  Instant instant{.allocated = window_peak_, .reserved = window_reserved_, .rows = {}};
  const std::span<const Event> before = std::span(events_).first(peak_events_);
  const auto add_if_live = [&](const Block& block) {
    if (block.is_live || block.end >= peak_events_) add(instant, block, now);
  };
  for (const Shared& block : at_start_) add_if_live(*block);
  for (const Event& event : before) {
    if (!event.is_free) add_if_live(*event.block);
  }
  settle(instant);
  return instant;
}

void Ledger::close_window(const Moment& now) {
  const bool is_higher_in_step = window_peak_ > step_.peak;
  const bool is_highest = window_peak_ > peak_.allocated;
  if (is_higher_in_step || is_highest) {
    Instant instant = at_peak(now);
    if (is_higher_in_step) {
      step_.peak = instant.allocated;
      step_.categories = by_category(instant);
    }
    if (is_highest) {
      peak_ = std::move(instant);
      peak_step_ = step_number_;
    }
  }
  begin_window();
}

void Ledger::begin_window() {
  at_start_.clear();
  for (const auto& [address, block] : live_) at_start_.push_back(block);
  events_.clear();
  peak_events_ = 0;
  window_peak_ = allocated_;
  window_reserved_ = reserved_;
}

void Ledger::end_step(uint32_t owner, const Moment& now) {
  close_window(now);
  step_.owner = owner;
  step_.first = step_.last = step_number_++;
  step_.live_after = allocated_;
  if (!steps_.empty() && steps_.back().is_equal_to(step_)) {
    steps_.back().last = step_.last;
  } else if (steps_.size() < kMostSteps) {
    steps_.push_back(step_);
  }
  step_ = {};
}

void Ledger::finish(const Moment& now) {
  if (events_.empty() && step_.peak == 0 && window_peak_ <= peak_.allocated) return;
  end_step(0, now);
}

}  // namespace headroom
