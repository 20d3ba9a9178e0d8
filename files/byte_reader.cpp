#include "files/byte_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "files/mapped_file.h"

namespace headroom {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

std::string read_error_text(int error) { return std::generic_category().message(error); }

}  // namespace

ByteReader::ByteReader(std::string_view bytes) : window_(bytes) {}

ByteReader::ByteReader(const std::string& path, int64_t most)
    : path_(path), most_(most), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) throw ReadError(path, read_error_text(errno));
  struct stat status {};
  fstat(fd_, &status);
  const auto kind = status.st_mode & S_IFMT;
  if (kind == S_IFREG || kind == S_IFIFO || kind == S_IFSOCK) return;
  close(fd_);
  throw ReadError(
      path, kind == S_IFDIR ? read_error_text(EISDIR) : "it is neither a regular file nor a pipe");
}

ByteReader::~ByteReader() {
  if (fd_ >= 0) close(fd_);
}

// A size that a file states costs no memory before its bytes are there.
void ByteReader::fill(uint64_t size) {
  if (fd_ < 0) return;
  buffer_.erase(0, buffer_.size() - window_.size());
  while (buffer_.size() < size) {
    const size_t kept = buffer_.size();
    buffer_.resize(kept + kPiece);
    const ssize_t got = read(fd_, buffer_.data() + kept, kPiece);
    buffer_.resize(kept + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw ReadError(path_, read_error_text(errno));
    if (got == 0) break;
    if (at_ + buffer_.size() > static_cast<uint64_t>(most_)) {
      throw ReadError(path_, "it is larger than " + std::to_string(most_) + " bytes");
    }
  }
  window_ = buffer_;
}

}  // namespace headroom
