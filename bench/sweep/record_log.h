// A sweep's file of Records: one JSON line appended per cell, synced to the disk.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "profiling/record/record.h"

namespace headroom {

// Note [Append-only Records]
// Rationale: kill -9, a full disk or a power cut may lose only the running cell, and especially no
//   rows that another program appended meanwhile (`>>` takes no lock, and some network file
//   systems have none).
// Approach: the file only grows. One write() and one fsync() per row, opened with O_APPEND and
//   locked against a second sweep. A killed writer's partial line stays; the next row begins on a
//   new line, and readers skip the partial one with a message (profiling/record/record_file.h). A
//   file without Records is refused and left unchanged.
// Limits: the lock is advisory. O_APPEND is not atomic on network file systems: two writers there
//   may still overwrite each other.
class RecordLog {
 public:
  // Checks the disk's free space, opens or creates `path`, locks it and reads its Records. Throws
  // std::runtime_error with one line. The folder must exist.
  explicit RecordLog(std::string path,
                     const std::function<void(const std::string& line)>& on_talk = {});
  ~RecordLog();
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // The Records of earlier runs; only the newest of equivalent rows (Note [Rows that stand for each
  // other] in profiling/record/record_file.h).
  const std::vector<Record>& earlier() const { return earlier_; }

  // On return the row is on the disk. Throws std::runtime_error; then the file may end with a
  // partial line.
  void append(const Record& record);

 private:
  void open_and_lock(const std::function<void(const std::string& line)>& on_talk);
  off_t size() const;
  bool ends_a_line(off_t end) const;
  void write_all(const std::string& text) const;
  [[noreturn]] void fail(const std::string& action, int error) const;

  std::string path_;
  int fd_ = -1;
  std::vector<Record> earlier_;
};

}  // namespace headroom
