#include "train/offload/disk/disk_states.h"

#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <new>
#include <numeric>
#include <stdexcept>

#include "train/offload/disk/whole_transfers.h"

namespace headroom {
namespace {

constexpr int kFewestBuffers = 3;  // one to read into, one to update, one to write

// Own pages of memory, untouched.
class MappedBuffers {
 public:
  MappedBuffers(size_t count, size_t bytes) : bytes_(count * bytes) {
    void* memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    for (size_t i = 0; i < count; ++i) {
      buffers_.push_back({static_cast<std::byte*>(memory) + i * bytes, bytes});
    }
  }
  ~MappedBuffers() { munmap(buffers_.front().memory, bytes_); }
  MappedBuffers(const MappedBuffers&) = delete;
  MappedBuffers& operator=(const MappedBuffers&) = delete;

  size_t bytes() const { return bytes_; }  // of all buffers
  const std::vector<TransferMemory>& get() const { return buffers_; }

 private:
  size_t bytes_;
  std::vector<TransferMemory> buffers_;
};

StatesInMemory states_in(std::byte* memory, const StateBlock& block) {
  const int64_t array = block.array_bytes();
  return {.region = block.region,
          .first = block.first,
          .numbers = block.numbers,
          .master = reinterpret_cast<float*>(memory),
          .m = reinterpret_cast<float*>(memory + array),
          .v = reinterpret_cast<float*>(memory + 2 * array)};
}

std::vector<int> all_regions(int regions) {
  std::vector<int> order(static_cast<size_t>(regions));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

// Buffers are destroyed last: the queue may still have transfers in flight to or from them.
struct DiskStates::Engine {
  Engine(const DiskStatesOptions& options, int64_t block_bytes, std::vector<std::string>& notes)
      : buffers(static_cast<size_t>(std::max(options.buffers, kFewestBuffers)),
                static_cast<size_t>(block_bytes)),
        transfers(make_queue(options, buffers.get(), notes), buffers.get().size()) {}

  static std::unique_ptr<TransferQueue> make_queue(const DiskStatesOptions& options,
                                                   const std::vector<TransferMemory>& buffers,
                                                   std::vector<std::string>& notes) {
    std::unique_ptr<TransferQueue> queue =
        options.engine == DiskEngine::kThreads
            ? make_thread_queue(buffers.size())
            : make_transfer_queue(buffers, buffers.size(), notes);
    return options.around_queue ? options.around_queue(std::move(queue)) : std::move(queue);
  }

  MappedBuffers buffers;
  WholeTransfers transfers;
};

namespace {

// One pass: tracks the block and state of each buffer.
class BatchLayout {
 public:
  BatchLayout(WholeTransfers& transfers, const std::vector<TransferMemory>& buffers,
              const DiskLayout& layout, StateDirectory& directory, bool reads, bool writes)
      : transfers_(transfers),
        buffers_(buffers),
        directory_(directory),
        reads_(reads),
        writes_(writes),
        is_(buffers.size()),
        layout_(layout) {
    for (size_t buffer = 0; buffer < buffers.size(); ++buffer) free_.push_back(buffer);
  }

  void run(std::span<const int> order, const DiskStates::Visit& visit) {
    for (const int region : order) {
      for (const StateBlock& block : layout_.blocks_of(region)) blocks_.push_back(&block);
    }
    while (visited_ < blocks_.size()) {
      while (take_ended(/*wait=*/false)) {
      }
      start_reads();
      if (!in_order_.empty() && is_[in_order_.front()].read) {
        visit_first(visit);
      } else {
        take_ended(/*wait=*/true);
      }
    }
    while (take_ended(/*wait=*/true)) {
    }
  }

 private:
  struct Buffer {
    const StateBlock* block = nullptr;
    bool read = false;     // its block is in memory
    bool written = false;  // ... was visited, and is being written
  };

  void start_reads() {
    for (; !free_.empty() && started_ < blocks_.size(); ++started_) {
      const size_t buffer = free_.front();
      free_.pop_front();
      in_order_.push_back(buffer);
      is_[buffer] = {.block = blocks_[started_], .read = !reads_};
      if (reads_) start(buffer, /*writes=*/false, directory_.whole());
    }
  }

  void start(size_t buffer, bool writes, const StateDirectory::File& file) {
    const StateBlock& block = *is_[buffer].block;
    transfers_.start(buffer,
                     {.writes = writes,
                      .file = file.descriptor.get(),
                      .memory = buffers_[buffer].memory,
                      .bytes = block.bytes,
                      .offset = block.offset},
                     file.path);
  }

  void visit_first(const DiskStates::Visit& visit) {
    const size_t buffer = in_order_.front();
    in_order_.pop_front();
    const std::byte* const memory = buffers_[buffer].memory;
    const auto block = static_cast<size_t>(is_[buffer].block - layout_.blocks().data());
    if (reads_) directory_.check_read(block, memory);
    visit(states_in(buffers_[buffer].memory, *is_[buffer].block));
    ++visited_;
    if (writes_) {
      directory_.note_written(block, memory);
      is_[buffer].written = true;
      start(buffer, /*writes=*/true, directory_.next());
    } else {
      free_.push_back(buffer);
    }
  }

  // False if nothing is in flight, or nothing has ended.
  bool take_ended(bool wait) {
    const std::optional<size_t> buffer = transfers_.next(wait);
    if (!buffer) return false;
    if (is_[*buffer].written) {
      free_.push_back(*buffer);
    } else {
      is_[*buffer].read = true;
    }
    return true;
  }

  WholeTransfers& transfers_;
  const std::vector<TransferMemory>& buffers_;
  StateDirectory& directory_;
  bool reads_;
  bool writes_;
  std::vector<Buffer> is_;  // by buffer
  const DiskLayout& layout_;
  std::deque<size_t> free_;
  std::deque<size_t> in_order_;  // buffers whose blocks have not been visited
  std::vector<const StateBlock*> blocks_;
  size_t started_ = 0;
  size_t visited_ = 0;
};

}  // namespace

DiskStates::DiskStates(DiskStatesOptions options, const std::vector<StateRegion>& regions)
    : options_(std::move(options)), layout_(regions, options_.block_bytes) {
  // Memory first: if it is refused, the directory stays unchanged.
  engine_ = std::make_unique<Engine>(options_, layout_.block_bytes(), notes_);
  directory_ = std::make_unique<StateDirectory>(options_.directory, options_.identity, layout_,
                                                options_.keep);
  notes_.insert(notes_.begin(), directory_->notes().begin(), directory_->notes().end());
}

DiskStates::~DiskStates() { engine_.reset(); }  // before the files close

int64_t DiskStates::steps_done() const { return directory_->step(); }

DiskFigures DiskStates::disk() const {
  return {.files = layout_.both_files_bytes(),
          .buffers = static_cast<int64_t>(engine_->buffers.bytes()),
          .read = bytes_read_,
          .written = bytes_written_};
}

void DiskStates::pass(std::span<const int> order, bool reads, bool writes, const Visit& visit) {
  try {
    BatchLayout(engine_->transfers, engine_->buffers.get(), layout_, *directory_, reads, writes)
        .run(order, visit);
  } catch (...) {
    engine_->transfers.drain();
    throw;
  }
  if (reads) bytes_read_ += layout_.state_bytes();
  if (writes) bytes_written_ += layout_.state_bytes();
}

void DiskStates::fill(const Visit& masters) {
  const Visit fill = [&](const StatesInMemory& piece) {
    for (float* moment : {piece.m, piece.v}) std::fill_n(moment, piece.numbers, 0.0F);
    masters(piece);
  };
  if (steps_done() >= 0) throw std::logic_error("the states are there already");
  directory_->begin(0);
  pass(all_regions(layout_.regions()), /*reads=*/false, /*writes=*/true, fill);
  directory_->commit(0);
}

void DiskStates::read(const Visit& look) {
  if (steps_done() < 0) throw std::logic_error("no states yet: fill() comes first");
  pass(all_regions(layout_.regions()), /*reads=*/true, /*writes=*/false, look);
}

void DiskStates::step(std::span<const int> order, const Visit& update) {
  if (steps_done() < 0) throw std::logic_error("no states yet: fill() comes first");
  std::vector<int> sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted != all_regions(layout_.regions())) {
    throw std::logic_error("a step takes every region once");
  }
  const int64_t step = steps_done() + 1;
  directory_->begin(step);
  pass(order, /*reads=*/true, /*writes=*/true, update);
  directory_->commit(step);
}

}  // namespace headroom
