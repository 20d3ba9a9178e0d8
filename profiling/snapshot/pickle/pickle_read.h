// Reads the pickles memory_viz accepts, and nothing that could run code. No torch here.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/byte_reader.h"

namespace headroom {

// A pickle's error, in one line, mostly with the byte offset.
class PickleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInteger,
  kBigInteger,  // more than eight bytes: a BigInt in the viewer, which cannot add it to numbers
  kReal,
  kText,
  kList,
  kTuple,
  kDict,
};

// 16 bytes, because a file of a million events has twenty million of them. Texts and containers are
// indices into their Pickle. Lists refer to each other freely (even in a circle), so never recurse.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  uint32_t key = 0;  // of a dict's entry: the text of its key
  union {
    int64_t integer = 0;
    double real;
    uint32_t index;
  };
};

// Facts about limits of the viewer, collected while reading.
struct PickleFacts {
  int protocol = 0;
  uint64_t largest_batch = 0;         // most items of one APPENDS
  uint64_t largest_batch_offset = 0;  // byte offset of that APPENDS
  uint64_t big_integers = 0;          // of more than eight bytes
  uint64_t unsafe_integers = 0;       // beyond 2^53: a JavaScript number loses their last digits
  uint64_t bytes = 0;                 // read until now
};

class Pickle;

// Takes the events of a snapshot's traces while its file is read, so that their dicts need not stay
// in memory.
class EventTaker {
 public:
  virtual ~EventTaker() = default;
  // `dict` is entry number `entry` of the trace of `device`. It is empty afterwards.
  virtual void take_event(size_t device, size_t entry, const PickleValue& dict) = 0;
};

class Pickle {
 public:
  // Throws PickleError, and ReadError of the file. The pickle is bounded by its bytes: every value
  // costs at least one.
  void read(ByteReader& file, EventTaker* taker = nullptr);

  const PickleValue& root() const { return root_; }
  const PickleFacts& facts() const { return facts_; }
  // Items of a list or tuple; entries of a dict in file order, where a later one wins.
  const std::vector<PickleValue>& items(const PickleValue& container) const {
    return containers_[container.index];
  }
  const std::string& text(uint32_t index) const { return texts_[index]; }
  const PickleValue* find(const PickleValue& dict, uint32_t key) const;
  std::optional<uint32_t> find_text(std::string_view text) const;
  size_t text_count() const { return texts_.size(); }
  size_t container_count() const { return containers_.size(); }

 private:
  friend class PickleReader;
  PickleValue root_;
  PickleFacts facts_;
  std::deque<std::vector<PickleValue>> containers_;  // millions: a vector would copy them
  std::deque<std::string> texts_;  // a deque, because text_index_ points into its strings
  std::unordered_map<std::string_view, uint32_t> text_index_;
};

}  // namespace headroom
