// Files read and written past the page cache. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// A file descriptor, closed by the destructor.
class OwnedFile {
 public:
  OwnedFile() = default;
  explicit OwnedFile(int descriptor) : descriptor_(descriptor) {}
  OwnedFile(OwnedFile&& other) noexcept;
  OwnedFile& operator=(OwnedFile&& other) noexcept;
  ~OwnedFile() { close(); }
  int get() const { return descriptor_; }
  void close();

 private:
  int descriptor_ = -1;
};

// Opens with O_DIRECT if the file system supports it, else adds a note, once per directory. No
// descriptor and an errno if it cannot be opened.
OwnedFile open_direct(const std::string& path, int flags, const std::string& directory,
                      std::vector<std::string>& notes);

// Reserves the bytes, so that a full disk fails now. 0 or an errno; adds a note if the file system
// reserves nothing.
int reserve_room(const OwnedFile& file, int64_t bytes, const std::string& directory,
                 std::vector<std::string>& notes);

}  // namespace headroom
