#include "train/data/token_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "text/quantity.h"

namespace headroom {

TokenFile::TokenFile(const std::string& path, const std::string& token_type)
    : path_(path), width_(token_type == "uint32" ? 4 : 2) {
  const std::string example = "--tokens data/train.bin --token-type uint16";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    throw UsageError("--tokens", path, std::string("cannot be read: ") + std::strerror(errno),
                     example);
  }
  struct stat status {};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  bytes_ = regular ? status.st_size : 0;
  size_ = bytes_ / width_;
  if (!regular || bytes_ % width_ != 0 || size_ < 2) {
    close(file);
    throw UsageError("--tokens", path,
                     !regular ? "is not a regular file"
                              : "holds " + std::to_string(bytes_) + " bytes, not at least two " +
                                    token_type + " ids of " + std::to_string(width_) + " bytes",
                     example);
  }
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) {
    throw UsageError("--tokens", path, std::string("cannot be mapped: ") + std::strerror(errno),
                     example);
  }
  data_ = static_cast<const unsigned char*>(mapped);
}

TokenFile::~TokenFile() { munmap(const_cast<unsigned char*>(data_), static_cast<size_t>(bytes_)); }

int64_t TokenFile::at(int64_t index) const {
  const unsigned char* id = data_ + (index % size_) * width_;
  int64_t value = id[0] | id[1] << 8;
  if (width_ == 4) value |= int64_t{id[2]} << 16 | int64_t{id[3]} << 24;
  return value;
}

void TokenFile::check_ids(int64_t vocab_size, int64_t tokens_per_step, int64_t steps) const {
  // Divided, as the product may be beyond 64 bits: the whole file then.
  const bool all = steps > 0 && tokens_per_step > size_ / steps;
  const int64_t read = all ? size_ : std::min(size_, tokens_per_step * steps + 1);
  for (int64_t i = 0; i < read; ++i) {
    if (at(i) >= vocab_size) {
      throw UsageError("--tokens", path_,
                       "holds id " + std::to_string(at(i)) + " at position " + std::to_string(i) +
                           "; allowed: below the vocabulary of " + std::to_string(vocab_size),
                       "--vocab-size " + std::to_string(at(i) + 1));
    }
  }
}

}  // namespace headroom
