// Numbers as the report's page reads them: columns of varints. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace headroom {

// Appends seven bits per byte, the lowest first; the top bit says that another byte follows.
void append_varint(std::string& bytes, uint64_t value);

// Small negative numbers as small positive ones: 0, -1, 1, -2 become 0, 1, 2, 3.
constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

// A list of numbers. One kind of number compresses better than records of several.
class PackedColumn {
 public:
  void add(uint64_t value) {
    append_varint(bytes_, value);
    ++count_;
  }
  void add_signed(int64_t value) { add(zigzag(value)); }
  // Appends the number of values, then the values.
  void append_to(std::string& bytes) const {
    append_varint(bytes, count_);
    bytes += bytes_;
  }
  size_t count() const { return count_; }

 private:
  std::string bytes_;
  size_t count_ = 0;
};

}  // namespace headroom
