// Reads the entries of a snapshot's pickle with their required types. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiling/snapshot/pickle/pickle_read.h"
#include "profiling/snapshot/read.h"

namespace headroom {

enum class Need { kOptional, kNeeded };

// An impossible value throws PickleError. A missing or strange one is noted once, with its count
// and its first position.
class SnapshotFields {
 public:
  explicit SnapshotFields(const Pickle& pickle) : pickle_(pickle) {}

  // Sets the position for messages: "device_traces of device 0, entry 12".
  void enter(const std::string& part, int64_t device = -1, int64_t entry = -1);
  void next_entry() { ++entry_; }

  [[noreturn]] void fail(const std::string& problem) const;
  void note(bool is_error, const std::string& text);
  std::vector<SnapshotProblem> problems() const;

  // nullptr if the dict lacks it. `key` is a literal: its text is not copied.
  const PickleValue* find(const PickleValue& dict, const char* key);

  // `what` names the value in the error. Each call counts against a budget: a short file may refer
  // to one list many times.
  void expect_dict(const PickleValue& value, const char* what);
  const std::vector<PickleValue>& items(const PickleValue& value, const char* what) const;

  // The value of a key; `fallback` (no items) if it is absent.
  const std::vector<PickleValue>& list(const PickleValue& dict, const char* key);
  int64_t number(const PickleValue& dict, const char* key, Need need, int64_t fallback = 0);
  // A number that the viewer only prints. It may have more than 8 bytes; the result is the lower 8.
  // A frame of torch.compile has line -1, written as 2^64-1.
  int64_t shown_number(const PickleValue& dict, const char* key);
  uint64_t address(const PickleValue& dict, const char* key, Need need);
  std::string text(const PickleValue& dict, const char* key, Need need, const char* fallback = "");
  // Bytes of an entry. A file's bytes sum to at most 2^62, so no sum overflows.
  int64_t bytes(const PickleValue& dict, const char* key, Need need);

 private:
  struct Note {
    bool is_error = true;
    int64_t count = 0;
    std::string first;  // its first position
  };
  std::string position() const;

  const Pickle& pickle_;
  uint64_t entries_ = 0;  // at most one for each byte of the file
  struct KnownKey {
    std::optional<uint32_t> text;
    size_t texts = 0;  // in the pickle when the key was not among them
  };
  std::unordered_map<std::string_view, KnownKey> key_index_;
  std::map<std::string, Note> notes_;
  std::string part_;
  int64_t device_ = -1;
  int64_t entry_ = -1;
  int64_t all_bytes_ = 0;
};

}  // namespace headroom
