// The calls that each rank of a communicator has issued, for the other ranks in one dry run.
//
// Note [Ranks tell what they issue]
// Rationale: programs branch on small values from other ranks (sizes of pickled objects, flags),
//   and end on zeros. A collective must still be done when issued: ranks need not issue theirs in
//   an order in which none waits.
// Approach: every rank writes a journal beside the dry run's reports, one entry per collective and
//   send, with its input bytes if they are known and few. The result is a Source
//   (device/contents.h) that reads the others' journals when it is read, and waits only then. So a
//   rank that reads nothing waits for no other.
// Limits: one machine. A wait ends with the rank that owes the entry, with the communicator, or
//   after ten minutes; the data is then unknown.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "virtual_gpu/device/memory/contents.h"

namespace virtual_gpu {

struct Entry {
  int32_t kind = 0;   // Traffic
  int32_t other = 0;  // root, or the peer
  int32_t type = 0;
  int32_t operation = 0;
  uint64_t count = 0;
  bool is_known = false;
  Bytes bytes;  // input; empty if not known or not needed

  bool agrees(const Entry& same) const {
    return kind == same.kind && other == same.other && type == same.type &&
           operation == same.operation && count == same.count;
  }
};

// A rank's own journal, which only that rank writes. Closed on destruction.
class Journal {
 public:
  // `stem` is the same in all ranks. If it cannot be written, the other ranks get nothing.
  Journal(const std::string& stem, int rank, const std::string& card);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  void add(const Entry& entry);

 private:
  int file_ = -1;
  std::mutex mutex_;
};

// Another rank's journal, as far as written.
class JournalReader {
 public:
  JournalReader(std::string stem, int rank) : path_(path_of(stem, rank)), rank_(rank) {}
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;
  static std::string path_of(const std::string& stem, int rank);

  // The rank's n-th collective, or n-th send to `rank`; waits for it. nullopt if it never comes.
  std::optional<Entry> collective(size_t n, const std::function<bool()>& gives_up);
  std::optional<Entry> sent(size_t n, int rank, const std::function<bool()>& gives_up);
  // The rank's card; nullopt if it never comes.
  std::optional<std::string> card(const std::function<bool()>& gives_up);
  // The collectives written so far.
  std::vector<Entry> collectives();

 private:
  bool wait(const std::function<bool()>& is_there, const std::function<bool()>& gives_up);
  void read_on();
  bool is_alive() const;

  const std::string path_;
  const int rank_;
  std::mutex mutex_;
  int file_ = -1;
  uint64_t offset_ = 0;
  int64_t pid_ = 0;
  std::string card_;
  std::vector<Entry> collectives_;
  std::map<int, std::vector<Entry>> sent_;
};

}  // namespace virtual_gpu
