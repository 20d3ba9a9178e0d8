#include "bench/sweep/record_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "files/links.h"
#include "files/replace_file.h"
#include "files/room.h"
#include "profiling/record/record_file.h"

namespace headroom {
namespace {

constexpr int64_t kWanted = int64_t{64} << 10;  // bytes that must be free before anything runs

}  // namespace

RecordLog::RecordLog(std::string path, const std::function<void(const std::string& line)>& on_talk)
    : path_(std::move(path)) {
  try {
    open_and_lock(on_talk);
    LatestRecords latest = read_latest_records(path_);  // refuses a file without Records
    for (const std::string& line : in_words(latest.skipped, path_)) {
      if (on_talk) on_talk(line);
    }
    earlier_ = std::move(latest.records);
  } catch (...) {
    if (fd_ >= 0) close(fd_);
    throw;
  }
}

RecordLog::~RecordLog() { close(fd_); }

void RecordLog::fail(const std::string& action, int error) const {
  throw std::runtime_error("cannot " + action + " " + with_link_target(path_) + ": " +
                           strerror(error));
}

void RecordLog::open_and_lock(const std::function<void(const std::string& line)>& on_talk) {
  // Not a FIFO, which would block, and not /dev/full: only a regular file keeps lines.
  struct stat status {};
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    throw std::runtime_error("cannot write " + path_ + ": not a regular file");
  }
  // Detects a full disk here, not after the first cell.
  const int64_t size = exists ? status.st_size : 0;
  if (const int error = space_error(follow_links(path_), size, kWanted)) fail("write", error);
  fd_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("write", errno);
  sync_directory_of(follow_links(path_));
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw std::runtime_error("cannot write " + path_ + ": another sweep is writing it");
    }
    if (on_talk)
      on_talk("cannot lock " + path_ + ": " + strerror(errno) + "; continuing without a lock");
  }
}

off_t RecordLog::size() const {
  struct stat status {};
  if (fstat(fd_, &status) != 0) fail("read", errno);
  return status.st_size;
}

// True if a row that begins at `end` begins a line.
bool RecordLog::ends_a_line(off_t end) const {
  if (end == 0) return true;
  char last = 0;
  if (pread(fd_, &last, 1, end - 1) != 1) fail("read", errno);
  return last == '\n';
}

void RecordLog::write_all(const std::string& text) const {
  // One write(), unless the disk or a size limit truncates it: the next one gives the reason.
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

void RecordLog::append(const Record& record) {
  const std::string row = to_json_line(record) + "\n";
  write_all(ends_a_line(size()) ? row : "\n" + row);
  // Another program may have left a partial line between the check and the write: then the row is
  // written again. This descriptor's offset is the end of our row.
  const off_t begin = lseek(fd_, 0, SEEK_CUR) - static_cast<off_t>(row.size());
  if (begin >= 0 && !ends_a_line(begin)) write_all("\n" + row);
  if (fsync(fd_) != 0) fail("write", errno);
}

}  // namespace headroom
