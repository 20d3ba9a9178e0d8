// The file of Records that a sweep appends to: one JSON line per cell, on the disk before the next
// cell starts.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "profiling/record.h"

namespace headroom {

// Note [Append-only Records]
// Rationale: kill -9, a full disk or a power cut may cost the cell that was running, nothing else.
// Approach: one write() and one fsync() per line, opened with O_APPEND and locked against a second
//   sweep. A line that could not be written whole is cut off again. A torn last line, left by a
//   writer that was killed, is cut off on opening; a file that does not look like Records is
//   refused and left as it is.
// Limits: the lock is advisory and does not exist on some network file systems.
class RecordLog {
 public:
  // Opens or creates `path`, locks it, reads what is there and makes sure that it can grow. Throws
  // std::runtime_error with one line. The folder must exist.
  explicit RecordLog(std::string path,
                     const std::function<void(const std::string& line)>& on_talk = {});
  ~RecordLog();
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // The Records of earlier runs, in file order.
  const std::vector<Record>& earlier() const { return earlier_; }

  // On return the line is on the disk. Throws std::runtime_error, and the file is as before.
  void append(const Record& record);

 private:
  void open_and_lock(const std::function<void(const std::string& line)>& on_talk);
  void mend_last_line(const std::function<void(const std::string& line)>& on_talk);
  void write_line(const std::string& line);
  [[noreturn]] void fail(const std::string& action, int error) const;

  std::string path_;
  int fd_ = -1;
  bool created_ = false;  // there was no such file
  off_t size_ = 0;        // bytes, all of them whole lines
  std::vector<Record> earlier_;
};

}  // namespace headroom
