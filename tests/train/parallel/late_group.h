// A group of ranks whose collectives are in progress until a wait, and that detects if memory in
// use by them is freed before. For one rank: the others are absent, and no number is right.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "model/torch.h"

namespace headroom {

// The collectives in progress, in the order of their beginning, and the errors.
class UnderWay {
 public:
  // Holds no tensor: only a wait releases its memory.
  int64_t begin(std::string name, const std::vector<torch::Tensor>& tensors) {
    said_.push_back(name);
    Use use{next_, std::move(name), {}};
    for (const torch::Tensor& tensor : tensors) {
      const auto* const data = static_cast<const char*>(tensor.data_ptr());
      use.ranges.emplace_back(data, data + tensor.nbytes());
    }
    uses_.push_back(std::move(use));
    return next_++;
  }
  void end(int64_t id) {
    const auto found =
        std::find_if(uses_.begin(), uses_.end(), [&](const Use& use) { return use.id == id; });
    if (found == uses_.end()) return;
    said_.push_back(found->name + " is there");
    uses_.erase(found);
  }
  void let_go(const void* data, size_t bytes) {
    const auto* const first = static_cast<const char*>(data);
    for (const Use& use : uses_) {
      for (const auto& [begin, end] : use.ranges) {
        if (first < end && begin < first + bytes) let_go_early.push_back(use.name);
      }
    }
  }
  size_t count() const { return uses_.size(); }
  std::vector<std::string> take() { return std::exchange(said_, {}); }

  std::vector<std::string> let_go_early;

 private:
  struct Use {
    int64_t id;
    std::string name;
    std::vector<std::pair<const char*, const char*>> ranges;
  };
  std::vector<Use> uses_;
  std::vector<std::string> said_;
  int64_t next_ = 0;
};

class LateGroup final : public c10d::Backend {
 public:
  // name: of the group, "dp".
  LateGroup(int rank, int size, std::string name, UnderWay& under_way)
      : Backend(rank, size), name_(std::move(name)), under_way_(under_way) {}

  const std::string getBackendName() const override { return "late"; }  // NOLINT: declared that way

  c10::intrusive_ptr<c10d::Work> _allgather_base(torch::Tensor& whole, torch::Tensor& own,
                                                 const c10d::AllgatherOptions&) override {
    return work("gather", {whole, own});
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(torch::Tensor& own, torch::Tensor& whole,
                                                      const c10d::ReduceScatterOptions&) override {
    return work("scatter", {own, whole});
  }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<torch::Tensor>& tensors,
                                           const c10d::AllreduceOptions&) override {
    return work("sum", tensors);
  }

 private:
  class LateWork final : public c10d::Work {
   public:
    LateWork(UnderWay& under_way, int64_t id) : under_way_(under_way), id_(id) {}
    bool wait(std::chrono::milliseconds) override {
      under_way_.end(id_);
      return true;
    }

   private:
    UnderWay& under_way_;
    int64_t id_;
  };
  c10::intrusive_ptr<c10d::Work> work(const std::string& what,
                                      const std::vector<torch::Tensor>& tensors) {
    return c10::make_intrusive<LateWork>(under_way_, under_way_.begin(name_ + " " + what, tensors));
  }

  std::string name_;
  UnderWay& under_way_;
};

// Replaces the CPU's allocator during its lifetime, and reports freed memory.
class ToldAllocator final : public c10::Allocator {
 public:
  explicit ToldAllocator(UnderWay& under_way)
      : under_way_(under_way), inner_(c10::GetAllocator(c10::DeviceType::CPU)) {
    c10::SetAllocator(c10::DeviceType::CPU, this, kOverAll);
  }
  ~ToldAllocator() override { c10::SetAllocator(c10::DeviceType::CPU, inner_, kOverAll); }
  ToldAllocator(const ToldAllocator&) = delete;
  ToldAllocator& operator=(const ToldAllocator&) = delete;

  c10::DataPtr allocate(size_t bytes) override {
    auto memory = std::make_unique<Memory>(Memory{inner_->allocate(bytes), bytes, under_way_});
    void* const data = memory->inner.get();
    return {data, memory.release(),
            [](void* context) {
              const std::unique_ptr<Memory> gone(static_cast<Memory*>(context));
              gone->under_way.let_go(gone->inner.get(), gone->bytes);
            },
            c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static constexpr uint8_t kOverAll = 255;
  struct Memory {
    c10::DataPtr inner;
    size_t bytes;
    UnderWay& under_way;
  };

  UnderWay& under_way_;
  c10::Allocator* inner_;
};

}  // namespace headroom
