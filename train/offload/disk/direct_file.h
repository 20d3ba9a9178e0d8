// Files that are read and written past the page cache. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// A descriptor that closes itself.
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

// With O_DIRECT where the file system knows it; that it does not is a note, once for a directory.
// No descriptor and an errno where it cannot be opened.
OwnedFile open_direct(const std::string& path, int flags, const std::string& directory,
                      std::vector<std::string>& notes);

// Room for so many bytes, so that a full disk shows now. 0 or an errno; where the file system
// reserves none, that is a note.
int reserve_room(const OwnedFile& file, int64_t bytes, const std::string& directory,
                 std::vector<std::string>& notes);

}  // namespace headroom
