// The storages of a rehearsed run: what each is, and which are alive when most is. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiling/theory/rehearsal/allocator/allocator.h"
#include "profiling/theory/rows.h"

namespace headroom {

// The part of the run that makes an allocation. Texts are literals.
struct AllocationSite {
  const char* phase = "";      // "backward"
  int64_t block = -1;          // -1: outside of any
  const char* operation = "";  // "ExpBackward0"
};

// One storage, from its first to its last instant.
struct Allocation {
  const char* group = "";  // of rows.h, or one of peak.h
  const char* owner = "";  // whose it is, where several models share the card: "actor"
  AllocationSite site;
  int64_t bytes = 0;  // as requested
  int64_t born = 0;   // of Memory::now()
  int64_t died = INT64_MAX;
};

class Memory;

// Alive as long as a tensor refers to it.
class Storage {
 public:
  Storage(Memory& memory, int64_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  int64_t bytes() const;
  bool is_there() const { return is_there_; }  // not of no bytes
  // The purpose, known later: a gradient, a state.
  void belongs_to(const char* group);
  // The memory leaves while tensors refer to it, and comes back with the same purpose.
  void leave();
  void come_back();

 private:
  static constexpr int64_t kNone = -1;

  Memory& memory_;
  int64_t index_;
  bool is_there_ = true;
};

class Memory {
 public:
  AllocationSite site;          // of the allocations from now on
  const char* group = kTables;  // likewise
  const char* owner = "";       // likewise

  // The allocator's rules are the default's unless others are given, before anything is made.
  explicit Memory(std::unique_ptr<AllocatorRules> allocator = std::make_unique<AllocatorRules>())
      : allocator_(std::move(allocator)) {}

  void limit(int64_t bytes) { allocator_->limit(bytes); }  // CardIsFull beyond it
  void release_cached() { allocator_->release_cached(); }
  void begin_peak();  // from now on
  int64_t peak() const { return peak_; }
  std::string peak_in_words() const;  // "actor: backward, block 3: ExpBackward0"
  std::vector<Allocation> alive_at_peak() const { return alive_at(peak_now_); }
  int64_t reserved_peak() const { return reserved_peak_; }
  // The same of bytes as requested, whose fullest instant may be another.
  int64_t requested_peak() const { return requested_peak_; }
  std::vector<Allocation> alive_when_most_requested() const {
    return alive_at(requested_peak_now_);
  }

  // A step begins.
  void begin_step();
  // True if the last step equals the one before it: the same requests in the same order, each let
  // go at the same point. Then every further one will.
  bool is_steady() const;
  // The last step once more, its requests alone.
  void repeat_step();

 private:
  friend class Storage;

  // A request, or that what a request made is let go.
  struct Event {
    int64_t bytes = 0;  // 0: let go
    int64_t made = 0;   // index in allocations_
    bool operator==(const Event&) const = default;
  };
  struct Step {
    size_t first_event = 0;
    int64_t first_made = 0;
    int64_t first_now = 0;
  };

  int64_t make(int64_t bytes);  // index in allocations_
  void let_go(int64_t index);
  void note_peak(int64_t now, const AllocationSite& where);
  std::vector<Allocation> alive_at(int64_t now) const;
  Event relative(const Step& step, size_t event) const;

  std::unique_ptr<AllocatorRules> allocator_;
  std::vector<Allocation> allocations_;
  std::vector<AllocatorRules::BlockId> blocks_;  // of each of them, in the last step
  std::vector<Event> events_;
  Step step_, step_before_;
  int64_t now_ = 0;  // storages made so far
  int64_t peak_ = 0;
  int64_t peak_now_ = 0;
  AllocationSite peak_site_;
  const char* peak_owner_ = "";
  int64_t reserved_peak_ = 0;
  int64_t requested_ = 0;  // of what is alive
  int64_t requested_peak_ = 0;
  int64_t requested_peak_now_ = 0;
};

}  // namespace headroom
