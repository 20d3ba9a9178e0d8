// A file's bytes, read in pieces. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

// Reads a regular file, or a pipe to its end ("/dev/stdin", a shell's "<(command)"). It keeps a few
// MiB of a file of any size.
class ByteReader {
 public:
  // Throws ReadError (files/mapped_file.h) if the file cannot be read, and on folders and devices:
  // /dev/zero has no end. Beyond `most` bytes take() and peek() throw it. A pipe without data is
  // waited for; a signal ends that.
  ByteReader(const std::string& path, int64_t most);
  // Bytes in memory. They must outlive this object.
  explicit ByteReader(std::string_view bytes);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  // The next `size` bytes; at the end of the file the ones that are left. Valid until the next
  // call.
  std::string_view take(uint64_t size) {
    const std::string_view taken = peek(size);
    window_.remove_prefix(taken.size());
    at_ += taken.size();
    return taken;
  }
  // The same without going on.
  std::string_view peek(uint64_t size) {
    if (size > window_.size()) fill(size);
    return window_.substr(0, size);
  }
  uint64_t at() const { return at_; }  // bytes taken

 private:
  void fill(uint64_t size);

  std::string path_;
  int64_t most_ = 0;
  int fd_ = -1;  // -1: no more bytes than the window
  std::string buffer_;
  std::string_view window_;  // bytes that are not taken
  uint64_t at_ = 0;
};

}  // namespace headroom
