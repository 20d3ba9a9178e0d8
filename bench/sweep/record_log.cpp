#include "bench/sweep/record_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "files/replace_file.h"

namespace headroom {
namespace {

constexpr off_t kReserve = off_t{64} << 10;  // bytes asked of the file system before anything runs

// The text behind the last newline, at most `size` bytes long.
std::string tail_of(int fd, off_t size, off_t* begin) {
  std::string tail;
  *begin = size;
  while (*begin > 0) {
    const off_t step = std::min<off_t>(*begin, 65536);
    std::string block(static_cast<size_t>(step), '\0');
    const ssize_t got = pread(fd, block.data(), block.size(), *begin - step);
    if (got != step) throw std::runtime_error(std::string("cannot read: ") + strerror(errno));
    const size_t newline = block.rfind('\n');
    if (newline != std::string::npos) {
      *begin -= step - static_cast<off_t>(newline) - 1;
      return tail.insert(0, block, newline + 1);
    }
    tail.insert(0, block);
    *begin -= step;
  }
  return tail;
}

}  // namespace

RecordLog::RecordLog(std::string path, const std::function<void(const std::string& line)>& on_talk)
    : path_(std::move(path)) {
  try {
    open_and_lock(on_talk);
    earlier_ = read_records(path_);  // refuses what is no file of Records, before it is touched
    mend_last_line(on_talk);
    // A full disk shows here, not after the first cell. Beyond the end of the file, so that its
    // size stays; file systems that cannot do it find out later.
    if (fallocate(fd_, FALLOC_FL_KEEP_SIZE, size_, kReserve) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      const int error = errno;
      if (created_) unlink(path_.c_str());
      fail("write", error);
    }
  } catch (...) {
    if (fd_ >= 0) close(fd_);
    throw;
  }
}

RecordLog::~RecordLog() {
  // Gives back what was reserved. Its failure leaves a few unused blocks.
  [[maybe_unused]] const int result = ftruncate(fd_, size_);
  close(fd_);
}

void RecordLog::fail(const std::string& action, int error) const {
  throw std::runtime_error("cannot " + action + " " + path_ + ": " + strerror(error));
}

void RecordLog::open_and_lock(const std::function<void(const std::string& line)>& on_talk) {
  // Not a FIFO that would block, and not /dev/full: only a regular file keeps lines.
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw std::runtime_error("cannot write " + path_ + ": not a regular file");
  }
  constexpr int kFlags = O_RDWR | O_APPEND | O_CLOEXEC;
  fd_ = open(path_.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
  created_ = fd_ >= 0;
  if (!created_ && errno == EEXIST) fd_ = open(path_.c_str(), kFlags);
  if (fd_ < 0) fail("write", errno);
  sync_directory_of(path_);
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw std::runtime_error("cannot write " + path_ + ": another sweep is writing it");
    }
    if (on_talk) on_talk("cannot lock " + path_ + ": " + strerror(errno) + "; going on without");
  }
  if (fstat(fd_, &status) != 0) fail("read", errno);
  size_ = status.st_size;
}

void RecordLog::mend_last_line(const std::function<void(const std::string& line)>& on_talk) {
  off_t begin = 0;
  const std::string tail = tail_of(fd_, size_, &begin);
  if (tail.empty()) return;
  if (tail.front() != '{') {
    throw std::runtime_error("cannot append to " + path_ + ": it is not a file of Records");
  }
  if (nlohmann::json::accept(tail)) {
    write_line("\n");  // only its newline is missing
    return;
  }
  if (ftruncate(fd_, begin) != 0) fail("write", errno);
  size_ = begin;
  if (on_talk) {
    on_talk(path_ + ": cut off a torn last line of " + std::to_string(tail.size()) +
            " bytes (its writer was killed)");
  }
}

void RecordLog::write_line(const std::string& line) {
  ssize_t written = 0;
  do {
    written = write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  int error = errno;
  bool whole = written == static_cast<ssize_t>(line.size());
  if (!whole && written >= 0) error = ENOSPC;  // or a limit on file sizes
  if (whole && fsync(fd_) != 0) {
    error = errno;
    whole = false;
  }
  if (!whole) {
    [[maybe_unused]] const int result = ftruncate(fd_, size_);
    fail("write", error);
  }
  size_ += static_cast<off_t>(line.size());
}

void RecordLog::append(const Record& record) { write_line(to_json_line(record) + "\n"); }

}  // namespace headroom
