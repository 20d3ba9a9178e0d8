// The file of Records that a sweep appends to: one JSON line per cell, on the disk before the next
// cell starts.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "profiling/record/record.h"

namespace headroom {

// Note [Append-only Records]
// Rationale: kill -9, a full disk or a power cut may cost the cell that was running, nothing else:
//   least of all rows that another program appended meanwhile (`>>` asks no lock, and some network
//   file systems have none).
// Approach: the file only ever grows. One write() and one fsync() per row, opened with O_APPEND and
//   locked against a second sweep. What a writer that was killed left torn stays where it is; the
//   next row begins on a line of its own, and readers pass over the torn one and say so
//   (profiling/record/record_file.h). A file that does not look like Records is refused and left as
//   it is.
// Limits: the lock is advisory. O_APPEND is not atomic on network file systems: two writers there
//   may still write over each other.
class RecordLog {
 public:
  // Looks whether the disk has room, opens or creates `path`, locks it and reads what is there.
  // Throws std::runtime_error with one line. The folder must exist.
  explicit RecordLog(std::string path,
                     const std::function<void(const std::string& line)>& on_talk = {});
  ~RecordLog();
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // The Records of earlier runs; of rows that stand for each other the newest (Note [Rows that
  // stand for each other] in profiling/record/record_file.h).
  const std::vector<Record>& earlier() const { return earlier_; }

  // On return the row is on the disk. Throws std::runtime_error; a part of the row may be there
  // then, as a torn line.
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
