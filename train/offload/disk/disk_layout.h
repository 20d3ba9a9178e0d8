// The layout of parameters' states in a file. No torch here.
//
// Note [States in blocks]
// Rationale: AdamW needs the master weight, m and v of the same numbers at once. Three files, or
//   three areas of one file, would mean three streams and three small transfers.
// Approach: a parameter is cut into blocks. A block is [master | m | v] in the file, read and
//   written in one transfer. Each of its arrays is padded to whole pages, so that every offset,
//   length and address suits O_DIRECT. Parameters are consecutive, so a pass in their order, or in
//   the reverse order of gradients, reads and writes one stream.
// Limits: up to three pages of padding a parameter; a small parameter is a small transfer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headroom {

// One parameter: 12 bytes of state per number.
struct StateRegion {
  std::string name;
  int64_t numbers = 0;
};

struct StateBlock {
  int region = 0;
  int64_t first = 0;    // index of its first number in its parameter
  int64_t numbers = 0;  // of each of the three arrays
  int64_t offset = 0;   // in the file
  int64_t bytes = 0;    // in the file, with the padding

  int64_t array_bytes() const { return bytes / 3; }
};

// "block 4 of 5 (bytes 0 to 4095)", for messages about a file. block: counted from 0.
std::string block_in_words(int64_t block, int64_t blocks, int64_t offset, int64_t bytes);

class DiskLayout {
 public:
  static constexpr int64_t kPage = 4096;  // O_DIRECT's unit for offsets, lengths and addresses

  // A run's transfer size, and number of transfers in flight.
  static constexpr int64_t kUsualBlockBytes = 3 << 20;
  static constexpr int kUsualBuffers = 8;

  // block_bytes: the longest transfer; rounded up to whole pages for three arrays.
  DiskLayout(const std::vector<StateRegion>& regions, int64_t block_bytes);

  std::span<const StateBlock> blocks_of(int region) const;
  const std::vector<StateBlock>& blocks() const { return blocks_; }  // all, in file order
  int regions() const { return static_cast<int>(ends_.size()); }
  int64_t block_bytes() const { return block_bytes_; }
  int64_t file_bytes() const { return file_bytes_; }
  int64_t both_files_bytes() const { return 2 * file_bytes_; }  // Note [Two generations of states]
  // Bytes that a step reads, and bytes that it writes.
  int64_t state_bytes() const { return file_bytes_ - kPage; }  // without the header page
  // Equal for two lists of parameters with the same layout.
  uint64_t hash() const { return hash_; }

 private:
  int64_t block_bytes_;
  int64_t file_bytes_ = kPage;
  uint64_t hash_ = 0;
  std::vector<StateBlock> blocks_;
  std::vector<size_t> ends_;  // end of each region's blocks
};

}  // namespace headroom
