#include "files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace headroom {
namespace {

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK has no effect on a regular file; without it, opening a pipe waits for its writer.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw ReadError(path, error_text(errno));
  struct stat status {};
  const bool is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<size_t>(is_regular ? status.st_size : 0);
  // An empty file cannot be mapped, and need not be.
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (!is_regular) throw ReadError(path, "not a regular file");
  if (data == MAP_FAILED) throw ReadError(path, error_text(error));
  bytes_ = {static_cast<const char*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace headroom
