#include "files/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "files/mapped_file.h"

namespace headroom {
namespace {

constexpr size_t kAtOnce = size_t{1} << 20;

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace

LineReader::LineReader(const std::string& path) : path_(path) {
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw ReadError(path, reason_of(errno));
  struct stat status {};
  if (fstat(file_, &status) == 0 && S_ISDIR(status.st_mode)) {
    close(file_);
    throw ReadError(path, reason_of(EISDIR));
  }
  if (S_ISREG(status.st_mode)) size_ = status.st_size;
  buffer_.resize(2 * kAtOnce + kSlack);
}

LineReader::~LineReader() { close(file_); }

bool LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - kSlack - end_ < kAtOnce) buffer_.resize(2 * buffer_.size());
  // An interrupted read is an error too: the interrupt is a request to stop.
  const ssize_t got = read(file_, buffer_.data() + end_, kAtOnce);
  if (got < 0) throw BrokenInput("cannot read " + path_ + ": " + reason_of(errno));
  end_ += static_cast<size_t>(got);
  return got > 0;
}

// Reads and drops the rest of a line that is too long.
void LineReader::skip_to_newline() {
  size_t skipped = end_ - begin_;
  while (true) {
    begin_ = end_ = 0;
    if (!fill()) return;
    const void* newline = std::memchr(buffer_.data(), '\n', end_);
    if (newline != nullptr) {
      begin_ = static_cast<size_t>(static_cast<const char*>(newline) - buffer_.data()) + 1;
      return;
    }
    skipped += end_;
    if (skipped > kEndless) {
      throw BrokenInput("cannot read " + path_ + ": line " + std::to_string(number_) +
                        " has no end within 1 GiB");
    }
  }
}

bool LineReader::next(std::string_view& line) {
  cut_off_ = false;
  size_t searched = begin_;
  while (true) {
    const void* found = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (found != nullptr) {
      const auto at = static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
      line = {buffer_.data() + begin_, at - begin_};
      begin_ = at + 1;
      given_ += static_cast<int64_t>(line.size()) + 1;
      ++number_;
      return true;
    }
    const size_t known = end_ - begin_;
    if (known > kLongest) {
      ++number_;
      cut_off_ = true;
      skip_to_newline();
      line = {};
      return true;
    }
    const bool more = fill();
    searched = known;  // fill() moved the line to the front
    if (more) continue;
    if (known == 0) return false;
    line = {buffer_.data(), known};
    begin_ = end_;
    ++number_;
    return true;
  }
}

}  // namespace headroom
