// What is known of the values in device memory: what the host copied there, what copies and memset
// made of it, what other ranks sent. Everything else is unknown.
//
// Note [Known contents]
// Rationale: programs steer by small values that they put on the card themselves (sizes of pickled
//   objects, flags, counters); as zeros they end real programs.
// Approach: known bytes lie in ranges, ranges in the block that was allocated for them: libtorch's
//   where it tells us of its blocks (add_block), else the driver's. A kernel that is given a
//   pointer into a block may write all of it, so the block is forgotten, unless somebody who knows
//   the operation said which spans it writes (Operands). A range refers to the bytes of a source,
//   so a copy on the card copies no bytes, and a source may have them later (a collective's result,
//   when the other ranks have come).
// Limits: copies of more than 1 MiB are not kept; all that is known stays under 64 MiB a process,
//   the oldest block is forgotten first. Bytes that are known in part are unknown.
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

// Where known bytes come from.
class Source {
 public:
  virtual ~Source() = default;
  // nullptr when they turn out to be unknown. May wait for other ranks; no lock of ours is held.
  virtual const Bytes* bytes() = 0;
};
std::shared_ptr<Source> source_of(Bytes bytes);

// A piece of a source.
struct Piece {
  std::shared_ptr<Source> source;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The memory that the operation this thread is in reads or writes, while it lives. Operations nest.
class Operands {
 public:
  struct Span {
    uint64_t begin;
    uint64_t end;
    bool is_written;
    // Of a tensor with gaps: its `run` bytes at every `step`; step 0: all bytes.
    uint64_t run = 0;
    uint64_t step = 0;
  };
  static void begin();
  static void add(const Span& span);               // of the operation that began last
  static void take(uint64_t begin, uint64_t end);  // memory that is allocated in the midst of it
  static void end();
  // Whether this thread is in an operation: then a kernel writes what that writes, and memory that
  // it took meanwhile, and nothing else, whatever lies among its arguments.
  static bool are_known();
  // The innermost operation's written span that holds the address; of memory that no operation
  // named, what was taken since the outermost began.
  static std::optional<Span> written_at(uint64_t address);
  static std::vector<Span> written();  // that too
};

class Contents {
 public:
  static constexpr uint64_t kMostAtOnce = uint64_t{1} << 20;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  struct Extent {
    uint64_t begin;
    uint64_t end;
  };
  // Where the block that holds an address of the driver's begins and ends.
  using Extents = std::function<Extent(uint64_t address)>;
  explicit Contents(Extents extents) : extents_(std::move(extents)) {}

  // Whether anything is known: a launch need not look at its arguments otherwise.
  bool any() const { return any_.load(std::memory_order_relaxed); }

  void write(uint64_t address, const void* from, uint64_t bytes);
  void set(uint64_t address, unsigned char value, uint64_t bytes);
  void copy(uint64_t to, uint64_t from, uint64_t bytes);
  void put(uint64_t address, Piece piece);
  // Where some of these bytes are known, the others become zeros: memory that nobody has written
  // yet, whose values are as good as any.
  void complete(uint64_t address, uint64_t bytes);
  // Whether all of it is known; only then `to` is written. May wait, as Source::bytes() does.
  bool read(uint64_t address, uint64_t bytes, void* to) const;
  // The pieces that these bytes are; none when some are unknown.
  std::vector<Piece> pieces(uint64_t address, uint64_t bytes) const;
  bool is_known(uint64_t address, uint64_t bytes) const { return !pieces(address, bytes).empty(); }

  void forget(uint64_t address, uint64_t bytes);
  void forget(const Operands::Span& span);  // what lies in its gaps stays known
  // Somebody may write through this pointer. Nothing but a comparison for what surely is none.
  void forget_through(uint64_t pointer) {
    if (pointer >= lowest_.load(std::memory_order_relaxed) &&
        pointer < highest_.load(std::memory_order_relaxed)) {
      forget_block_of(pointer);
    }
  }
  // Somebody may write anywhere.
  void forget_all();

  // A block inside the driver's memory is in use from now on, or no more; unknown either way.
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
    uint64_t bytes = 0;  // known
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
  // All known blocks lie between.
  std::atomic<uint64_t> lowest_{0};
  std::atomic<uint64_t> highest_{0};
  Blocks known_;                         // with known contents, by address
  std::map<uint64_t, uint64_t> by_age_;  // of known_
  std::map<uint64_t, uint64_t> in_use_;  // add_block()'s: begin to end
  uint64_t next_age_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace virtual_gpu
