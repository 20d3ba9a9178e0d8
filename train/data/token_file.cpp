#include "train/data/token_file.h"

#include <algorithm>

#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kTokensExample = "--tokens data/train.bin --token-type uint16";

MappedFile map_tokens(const std::string& path) {
  try {
    return MappedFile(path);
  } catch (const ReadError& error) {
    throw UsageError("--tokens", path, "cannot be read: " + error.reason(), kTokensExample);
  }
}

}  // namespace

TokenFile::TokenFile(const std::string& path, const std::string& token_type)
    : path_(path),
      file_(map_tokens(path)),
      width_(token_type == "uint32" ? 4 : 2),
      size_(static_cast<int64_t>(file_.bytes().size()) / width_) {
  const auto bytes = static_cast<int64_t>(file_.bytes().size());
  if (bytes % width_ != 0 || size_ < 2) {
    throw UsageError("--tokens", path,
                     "has " + std::to_string(bytes) + " bytes, fewer than two " + token_type +
                         " ids of " + std::to_string(width_) + " bytes",
                     kTokensExample);
  }
}

int64_t TokenFile::at(int64_t index) const {
  const auto* id =
      reinterpret_cast<const unsigned char*>(file_.bytes().data()) + (index % size_) * width_;
  int64_t value = id[0] | id[1] << 8;
  if (width_ == 4) value |= int64_t{id[2]} << 16 | int64_t{id[3]} << 24;
  return value;
}

void TokenFile::check_ids(int64_t vocab_size, int64_t tokens_per_step, int64_t steps) const {
  // Divides, because the product may exceed 64 bits; then checks the whole file.
  const bool all = steps > 0 && tokens_per_step > size_ / steps;
  const int64_t read = all ? size_ : std::min(size_, tokens_per_step * steps + 1);
  for (int64_t i = 0; i < read; ++i) {
    if (at(i) >= vocab_size) {
      throw UsageError("--tokens", path_,
                       "has id " + std::to_string(at(i)) + " at position " + std::to_string(i) +
                           "; allowed: below the vocabulary of " + std::to_string(vocab_size),
                       "--vocab-size " + std::to_string(at(i) + 1));
    }
  }
}

}  // namespace headroom
