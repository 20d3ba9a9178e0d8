// A file's bytes, mapped for reading. No torch here.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace headroom {

// A file could not be read. what() is one line with the path, reason() only the reason: "Permission
// denied", "not a regular file".
class ReadError : public std::runtime_error {
 public:
  ReadError(const std::string& path, const std::string& reason)
      : std::runtime_error("cannot read " + path + ": " + reason), reason_(reason) {}
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

// Pages are read on access, so a file may be larger than memory. Valid as long as this object; if
// the file is truncated meanwhile, SIGBUS ends the program at the missing bytes.
class MappedFile {
 public:
  // Throws ReadError. Only regular files are accepted: a pipe is refused, not waited for.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }  // empty for an empty file

 private:
  std::string_view bytes_;
};

}  // namespace headroom
