// What each rank of a communicator has issued, for the ranks that run beside it in one dry run.
//
// Note [Ranks tell what they issue]
// Rationale: a program decides by small values that other ranks send (sizes of pickled objects,
//   flags), and by zeros it ends. A collective must still be done the moment it is issued: ranks
//   need not issue theirs in an order that nobody waits in.
// Approach: every rank writes a journal beside the dry run's reports, one entry for each collective
//   and send, with the bytes that go into it where they are known and few. The result is a Source
//   (device/contents.h) that reads the others' journals when somebody asks for it, and waits then.
//   So who asks for nothing waits for nobody.
// Limits: one machine. What is waited for and never comes ends with the rank that owes it, with the
//   communicator, or after ten minutes, and is unknown then.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "virtual_gpu/device/contents.h"

namespace virtual_gpu {

struct Entry {
  int32_t kind = 0;   // Traffic
  int32_t other = 0;  // root, or the peer
  int32_t type = 0;
  int32_t operation = 0;
  uint64_t count = 0;
  bool is_known = false;
  Bytes bytes;  // what went in; empty where it is not known or nobody's business

  bool agrees(const Entry& same) const {
    return kind == same.kind && other == same.other && type == same.type &&
           operation == same.operation && count == same.count;
  }
};

// One rank's own, written by it alone. Closed when it goes.
class Journal {
 public:
  // `stem` is the same in all ranks. Where it cannot be written nothing is told to anybody.
  Journal(const std::string& stem, int rank, const std::string& card);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  void add(const Entry& entry);

 private:
  int file_ = -1;
  std::mutex mutex_;
};

// Another rank's, as far as it has come.
class JournalReader {
 public:
  JournalReader(std::string stem, int rank) : path_(path_of(stem, rank)), rank_(rank) {}
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;
  static std::string path_of(const std::string& stem, int rank);

  // Its n-th collective, or its n-th send to `rank`; waits until it is there. nullopt when it never
  // comes.
  std::optional<Entry> collective(size_t n, const std::function<bool()>& gives_up);
  std::optional<Entry> sent(size_t n, int rank, const std::function<bool()>& gives_up);
  // The card it runs on; nullopt when it never comes.
  std::optional<std::string> card(const std::function<bool()>& gives_up);
  // What is there by now.
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
