// A file's bytes, mapped for reading. No torch here.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace headroom {

// A file could not be read. what() is one line with the path, reason() only why: "Permission
// denied", "not a regular file".
class ReadError : public std::runtime_error {
 public:
  ReadError(const std::string& path, const std::string& reason)
      : std::runtime_error("cannot read " + path + ": " + reason), reason_(reason) {}
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

// Read from the disk as it is looked at, so a file may be larger than memory. Valid as long as this
// object; a file that is cut shorter meanwhile ends the program with SIGBUS at the missing bytes.
class MappedFile {
 public:
  // Throws ReadError. Only a regular file is taken: a pipe is refused, not waited for.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }  // of an empty file: empty

 private:
  std::string_view bytes_;
};

}  // namespace headroom
