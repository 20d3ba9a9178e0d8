#include "profiling/theory/rehearsal/allocator/memory.h"

#include <algorithm>
#include <utility>

namespace headroom {

// An allocation of no bytes has no block.
Storage::Storage(Memory& memory, int64_t bytes)
    : memory_(memory), index_(bytes > 0 ? memory.make(bytes) : kNone), is_there_(bytes > 0) {}

Storage::~Storage() {
  if (is_there_) memory_.let_go(index_);
}

void Storage::leave() {
  memory_.let_go(index_);
  is_there_ = false;
}

void Storage::come_back() {
  const Allocation was = memory_.allocations_[static_cast<size_t>(index_)];
  const char* const group = std::exchange(memory_.group, was.group);
  const char* const owner = std::exchange(memory_.owner, was.owner);
  index_ = memory_.make(was.bytes);
  memory_.group = group;
  memory_.owner = owner;
  is_there_ = true;
}

int64_t Memory::make(int64_t bytes) {
  const auto index = static_cast<int64_t>(allocations_.size());
  blocks_.push_back(allocator_->allocate(bytes));
  allocations_.push_back(
      {.group = group, .owner = owner, .site = site, .bytes = bytes, .born = ++now_});
  events_.push_back({bytes, index});
  requested_ += bytes;
  note_peak(now_, site);
  return index;
}

void Memory::let_go(int64_t index) {
  allocator_->release(blocks_[static_cast<size_t>(index)]);
  allocations_[static_cast<size_t>(index)].died = now_;
  events_.push_back({0, index});
  requested_ -= allocations_[static_cast<size_t>(index)].bytes;
}

int64_t Storage::bytes() const {
  return index_ == kNone ? 0 : memory_.allocations_[static_cast<size_t>(index_)].bytes;
}

void Storage::belongs_to(const char* group) {
  if (index_ != kNone) memory_.allocations_[static_cast<size_t>(index_)].group = group;
}

void Memory::note_peak(int64_t now, const AllocationSite& where) {
  reserved_peak_ = std::max(reserved_peak_, allocator_->reserved());
  if (requested_ > requested_peak_) {
    requested_peak_ = requested_;
    requested_peak_now_ = now;
  }
  if (allocator_->allocated() <= peak_) return;
  peak_ = allocator_->allocated();
  peak_now_ = now;
  peak_site_ = where;
  peak_owner_ = owner;
}

std::string Memory::peak_in_words() const {
  std::string words = *peak_owner_ == '\0' ? "" : std::string(peak_owner_) + ": ";
  words += peak_site_.phase;
  if (peak_site_.block >= 0) words += ", block " + std::to_string(peak_site_.block);
  if (*peak_site_.operation != '\0') words += std::string(": ") + peak_site_.operation;
  return words;
}

void Memory::begin_peak() {
  peak_ = requested_peak_ = reserved_peak_ = 0;
  note_peak(++now_, site);
}

// A storage that died when `now_` was n was alive at n.
std::vector<Allocation> Memory::alive_at(int64_t now) const {
  std::vector<Allocation> alive;
  for (const Allocation& made : allocations_) {
    if (made.born <= now && made.died >= now) alive.push_back(made);
  }
  return alive;
}

void Memory::begin_step() {
  step_before_ = step_;
  step_ = {events_.size(), static_cast<int64_t>(allocations_.size()), now_};
}

Memory::Event Memory::relative(const Step& step, size_t event) const {
  Event relative = events_[step.first_event + event];
  relative.made -= step.first_made;
  return relative;
}

bool Memory::is_steady() const {
  const size_t events = events_.size() - step_.first_event;
  if (step_before_.first_event == 0 || step_.first_event - step_before_.first_event != events) {
    return false;
  }
  for (size_t i = 0; i < events; ++i) {
    if (!(relative(step_, i) == relative(step_before_, i))) return false;
  }
  return true;
}

// A freed allocation was made in this step or in the one before, at the same distance each time.
void Memory::repeat_step() {
  const auto count =
      static_cast<size_t>(allocations_.size()) - static_cast<size_t>(step_.first_made);
  std::vector<AllocatorRules::BlockId> now_made;
  now_made.reserve(count);
  const auto last = blocks_.end() - static_cast<std::ptrdiff_t>(count);
  int64_t now = step_.first_now;
  for (size_t i = step_.first_event; i < events_.size(); ++i) {
    const auto made = static_cast<std::ptrdiff_t>(events_[i].made - step_.first_made);
    if (events_[i].bytes > 0) {
      now_made.push_back(allocator_->allocate(events_[i].bytes));
      requested_ += events_[i].bytes;
      note_peak(++now, allocations_[static_cast<size_t>(events_[i].made)].site);
    } else {
      requested_ -= allocations_[static_cast<size_t>(events_[i].made)].bytes;
      allocator_->release(made >= 0 ? now_made[static_cast<size_t>(made)]
                                    : *(last + static_cast<std::ptrdiff_t>(count) + made));
    }
  }
  std::copy(now_made.begin(), now_made.end(), last);
}

}  // namespace headroom
