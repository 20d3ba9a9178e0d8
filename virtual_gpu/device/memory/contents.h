// Known values in device memory: bytes that the host copied there, results of copies and memset on
// them, bytes from other ranks. Everything else is unknown.
//
// Note [Known contents]
// Rationale: programs branch on small values that they put on the card themselves (sizes of pickled
//   objects, flags, counters); read as zeros they end real programs.
// Approach: known bytes lie in ranges, ranges in allocated blocks: libtorch's if it reports its
//   blocks (add_block), else the driver's. A kernel with a pointer into a block may write all of
//   it, so the block is forgotten, unless a library that knows the operation named the spans it
//   writes (Operands). A range refers to the bytes of a source, so a copy on the card copies no
//   bytes, and a source may get them later (a collective's result, once the other ranks have
//   arrived).
// Limits: copies of more than 1 MiB are not kept; known bytes stay under 64 MiB per process, the
//   oldest block is forgotten first (keep_more() raises both). Partly known bytes are unknown.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace virtual_gpu {

using Bytes = std::vector<unsigned char>;

// The origin of known bytes.
class Source {
 public:
  virtual ~Source() = default;
  // nullptr if they turn out to be unknown. May wait for other ranks; no lock of ours is held.
  virtual const Bytes* bytes() = 0;
};
std::shared_ptr<Source> source_of(Bytes bytes);

// A piece of a source.
struct Piece {
  std::shared_ptr<Source> source;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The memory that this thread's current operation reads or writes, until it ends. Operations nest.
class Operands {
 public:
  struct Span {
    uint64_t begin;
    uint64_t end;
    bool is_written;
    // For a tensor with gaps: `run` bytes at every `step`; step 0: all bytes.
    uint64_t run = 0;
    uint64_t step = 0;
  };
  static void begin();
  static void add(const Span& span);               // of the innermost operation
  static void take(uint64_t begin, uint64_t end);  // memory allocated during it
  static void end();
  // True if this thread is in an operation. A kernel then writes only the operation's written spans
  // and memory allocated during it, whatever its arguments are.
  static bool are_known();
  // The innermost operation's written span that contains the address; if no operation named it, the
  // memory allocated there since the outermost began.
  static std::optional<Span> written_at(uint64_t address);
  static std::vector<Span> written();  // includes allocated memory
};

class Contents {
 public:
  static constexpr uint64_t kMostAtOnce = uint64_t{1} << 20;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  // For programs that compute more from known values.
  void keep_more(uint64_t at_once, uint64_t in_all) {
    most_at_once_.store(at_once, std::memory_order_relaxed);
    most_bytes_.store(in_all, std::memory_order_relaxed);
  }
  uint64_t most_at_once() const { return most_at_once_.load(std::memory_order_relaxed); }

  struct Extent {
    uint64_t begin;
    uint64_t end;
  };
  // Begin and end of the driver's block that contains an address.
  using Extents = std::function<Extent(uint64_t address)>;
  explicit Contents(Extents extents) : extents_(std::move(extents)) {}

  // True if anything is known: otherwise a launch can skip its arguments.
  bool any() const { return any_.load(std::memory_order_relaxed); }

  void write(uint64_t address, const void* from, uint64_t bytes);
  void set(uint64_t address, unsigned char value, uint64_t bytes);
  void copy(uint64_t to, uint64_t from, uint64_t bytes);
  void put(uint64_t address, Piece piece);
  // If some of these bytes are known, the others become zeros: memory that nothing has written yet
  // may have any value.
  void complete(uint64_t address, uint64_t bytes);
  // True if all bytes are known; only then `to` is written. May wait, like Source::bytes().
  bool read(uint64_t address, uint64_t bytes, void* to) const;
  // The pieces of these bytes; empty if some are unknown.
  std::vector<Piece> pieces(uint64_t address, uint64_t bytes) const;
  bool is_known(uint64_t address, uint64_t bytes) const { return !pieces(address, bytes).empty(); }

  void forget(uint64_t address, uint64_t bytes);
  void forget(const Operands::Span& span);  // bytes in its gaps stay known
  // Memory behind this pointer may be written. Only a comparison if the pointer is out of range.
  void forget_through(uint64_t pointer) {
    if (pointer >= lowest_.load(std::memory_order_relaxed) &&
        pointer < highest_.load(std::memory_order_relaxed)) {
      forget_block_of(pointer);
    }
  }
  // Any memory may be written.
  void forget_all();

  // A block inside the driver's memory is allocated or freed; its contents become unknown.
  void add_block(uint64_t address, uint64_t bytes);
  void remove_block(uint64_t address);

 private:
  struct Range {
    uint64_t end;
    std::shared_ptr<Source> source;
    uint64_t offset;
  };
  using Ranges = std::map<uint64_t, Range>;
  struct Block {
    uint64_t end;
    uint64_t age;
    uint64_t bytes = 0;  // known bytes
    Ranges ranges;
  };
  using Blocks = std::map<uint64_t, Block>;

  Blocks::iterator block_at(uint64_t address);
  Blocks::iterator make_block(uint64_t address, uint64_t bytes);
  Blocks::iterator drop(Blocks::iterator block);
  void drop_between(uint64_t begin, uint64_t end);
  void forget_block_of(uint64_t pointer);
  void note_bounds();
  void cut(Block& block, uint64_t begin, uint64_t end);
  void forget_locked(uint64_t begin, uint64_t end);
  void place(uint64_t address, Piece piece);
  std::vector<Piece> pieces_locked(uint64_t address, uint64_t bytes) const;

  const Extents extents_;
  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  std::atomic<uint64_t> most_at_once_{kMostAtOnce};
  std::atomic<uint64_t> most_bytes_{kMostBytes};
  // Bounds of all known blocks.
  std::atomic<uint64_t> lowest_{0};
  std::atomic<uint64_t> highest_{0};
  Blocks known_;                         // blocks with known contents, by address
  std::map<uint64_t, uint64_t> by_age_;  // keys of known_
  std::map<uint64_t, uint64_t> in_use_;  // blocks of add_block(): begin to end
  uint64_t next_age_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace virtual_gpu
