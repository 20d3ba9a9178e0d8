// State that the operations of a rehearsed run share: its memory, and the modes that libtorch keeps
// per thread. No torch here.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "profiling/theory/rehearsal/allocator/memory.h"
#include "profiling/theory/rehearsal/operations/tensor.h"
#include "profiling/theory/rehearsal/techniques/saved.h"

namespace headroom {

class Run {
 public:
  // workspace_bytes: what cuBLAS gets for every thread that multiplies matrices.
  explicit Run(int64_t workspace_bytes,
               std::unique_ptr<AllocatorRules> allocator = std::make_unique<AllocatorRules>())
      : memory(std::move(allocator)), workspace_bytes_(workspace_bytes) {}

  std::shared_ptr<Storage> allocate(int64_t bytes) {
    return std::make_shared<Storage>(memory, bytes);
  }
  // A product by cuBLAS: the handle of the thread has its workspace from the first one on.
  void use_workspace();
  // A product by cuBLASLt: it has one of its own beside cuBLAS', which ATen makes first.
  void use_lt_workspace();
  // True while a node runs its own code, and not a recomputation for it.
  bool is_in_node() const { return in_backward && !grad_mode; }

  Memory memory;
  int64_t multiprocessors = 132;  // of the card
  int64_t threads_per_multiprocessor = 2048;
  bool grad_mode = true;
  bool in_backward = false;       // on the engine's thread
  SavedShapes* saving = nullptr;  // what becomes of what operations save; null: as it is
  std::optional<DType> autocast;  // what products are computed in
  bool fp8 = false;               // the projections of blocks are FP8 products
  std::map<const Node*, ShapeTensor> cast_cache;  // by what accumulates a weight's gradient
  uint64_t next_sequence = 0;
  std::weak_ptr<Storage> maps_of_8_bits;  // of every optimizer that has them, while one has

 private:
  int64_t workspace_bytes_;
  // cuBLAS's workspaces of the forward's thread and of the engine's.
  std::shared_ptr<Storage> workspaces_[2];
  std::shared_ptr<Storage> lt_workspaces_[2];
};

class GradMode {
 public:
  GradMode(Run& run, bool on) : run_(run), was_(run.grad_mode) { run.grad_mode = on; }
  ~GradMode() { run_.grad_mode = was_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  Run& run_;
  bool was_;
};

class InBackward {
 public:
  explicit InBackward(Run& run) : run_(run) { run.in_backward = true; }
  ~InBackward() { run_.in_backward = false; }
  InBackward(const InBackward&) = delete;
  InBackward& operator=(const InBackward&) = delete;

 private:
  Run& run_;
};

// Like train/techniques/precision.h: the casts of weights are kept until it dies.
class RehearsedAutocast {
 public:
  RehearsedAutocast(Run& run, std::optional<DType> dtype) : run_(run) { run.autocast = dtype; }
  ~RehearsedAutocast() {
    run_.autocast.reset();
    run_.cast_cache.clear();
  }
  RehearsedAutocast(const RehearsedAutocast&) = delete;
  RehearsedAutocast& operator=(const RehearsedAutocast&) = delete;

 private:
  Run& run_;
};

}  // namespace headroom
