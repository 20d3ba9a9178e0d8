// Where the states of a list of parameters lie in a file. No torch here.
//
// Note [States in blocks]
// Rationale: AdamW needs the master weight, m and v of the same numbers at once. In three files, or
//   in three areas of one, they would be three streams and three small transfers.
// Approach: a parameter is cut into blocks; a block lies in the file as [master | m | v] and is
//   read and written in one transfer. Each of its arrays is padded to whole pages, so that every
//   offset, length and address suits O_DIRECT. Parameters lie one after another, so a pass in their
//   order, or against it as gradients come, reads and writes one stream.
// Limits: up to three pages of padding a parameter; one that has few numbers is a small transfer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headroom {

// One parameter: 12 bytes of state a number.
struct StateRegion {
  std::string name;
  int64_t numbers = 0;
};

struct StateBlock {
  int region = 0;
  int64_t first = 0;    // its first number, counted in its parameter
  int64_t numbers = 0;  // of each of the three arrays
  int64_t offset = 0;   // in the file
  int64_t bytes = 0;    // there, with the padding

  int64_t array_bytes() const { return bytes / 3; }
};

// "block 4 of 5 (bytes 0 to 4095)": of a file, for messages. block: counted from 0.
std::string block_in_words(int64_t block, int64_t blocks, int64_t offset, int64_t bytes);

class DiskLayout {
 public:
  static constexpr int64_t kPage = 4096;  // what O_DIRECT asks of offsets, lengths and addresses

  // Of a run: transfers as long, and as many under way.
  static constexpr int64_t kUsualBlockBytes = 3 << 20;
  static constexpr int kUsualBuffers = 8;

  // block_bytes: the longest transfer; rounded up to whole pages of three arrays.
  DiskLayout(const std::vector<StateRegion>& regions, int64_t block_bytes);

  std::span<const StateBlock> blocks_of(int region) const;
  const std::vector<StateBlock>& blocks() const { return blocks_; }  // all, as they lie
  int regions() const { return static_cast<int>(ends_.size()); }
  int64_t block_bytes() const { return block_bytes_; }
  int64_t file_bytes() const { return file_bytes_; }
  int64_t both_files_bytes() const { return 2 * file_bytes_; }  // Note [Two generations of states]
  // What a step reads, and what it writes.
  int64_t state_bytes() const { return file_bytes_ - kPage; }  // a page says what the file is
  // Equal for two lists of parameters that lie alike.
  uint64_t hash() const { return hash_; }

 private:
  int64_t block_bytes_;
  int64_t file_bytes_ = kPage;
  uint64_t hash_ = 0;
  std::vector<StateBlock> blocks_;
  std::vector<size_t> ends_;  // of each region's blocks
};

}  // namespace headroom
