// A process group that records the beginning of its collectives and the waits for them, and
// forwards everything to a real one.
#pragma once

#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "model/torch.h"

namespace headroom {

// The events of one rank, in order; a step's threads take turns.
class Timeline {
 public:
  void add(const std::string& event) { events_.push_back(event); }
  // Adds "begin all_reduce 0", numbered by kind.
  std::string begin(const std::string& kind) {
    std::string name = kind + " " + std::to_string(count_[kind]++);
    add("begin " + name);
    return name;
  }
  void clear() {
    events_.clear();
    count_.clear();
  }

  const std::vector<std::string>& events() const { return events_; }
  // The event's place; the number of events, later than all, if it did not happen.
  size_t at(const std::string& event) const {
    size_t place = 0;
    while (place < events_.size() && events_[place] != event) ++place;
    return place;
  }
  bool has(const std::string& event) const { return at(event) < events_.size(); }
  // For a failure's message.
  std::string text() const {
    std::string all;
    for (const std::string& event : events_) all += event + "\n";
    return all;
  }

 private:
  std::vector<std::string> events_;
  std::map<std::string, int> count_;
};

class WatchedWork final : public c10d::Work {
 public:
  WatchedWork(c10::intrusive_ptr<c10d::Work> inner, std::string name, Timeline& timeline)
      : inner_(std::move(inner)), name_(std::move(name)), timeline_(timeline) {}

  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  bool wait(std::chrono::milliseconds timeout) override {
    timeline_.add("wait " + name_);
    return inner_->wait(timeout);
  }

 private:
  c10::intrusive_ptr<c10d::Work> inner_;
  std::string name_;
  Timeline& timeline_;
};

class WatchedGroup final : public c10d::Backend {
 public:
  WatchedGroup(c10::intrusive_ptr<c10d::Backend> inner, Timeline& timeline)
      : Backend(inner->getRank(), inner->getSize()),
        inner_(std::move(inner)),
        timeline_(timeline) {}

  using Work = c10::intrusive_ptr<c10d::Work>;

  Work allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options) override {
    const std::string name = timeline_.begin("all_reduce");
    return watched(inner_->allreduce(tensors, options), name);
  }
  Work allreduce_coalesced(std::vector<at::Tensor>& tensors,
                           const c10d::AllreduceCoalescedOptions& options) override {
    const std::string name = timeline_.begin("all_reduce");
    return watched(inner_->allreduce_coalesced(tensors, options), name);
  }
  Work _reduce_scatter_base(at::Tensor& own, at::Tensor& whole,
                            const c10d::ReduceScatterOptions& options) override {
    const std::string name = timeline_.begin("reduce_scatter");
    return watched(inner_->_reduce_scatter_base(own, whole, options), name);
  }
  Work reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& own, std::vector<at::Tensor>& whole,
                                       const c10d::ReduceScatterOptions& options) override {
    const std::string name = timeline_.begin("reduce_scatter");
    return watched(inner_->reduce_scatter_tensor_coalesced(own, whole, options), name);
  }
  Work _allgather_base(at::Tensor& whole, at::Tensor& own,
                       const c10d::AllgatherOptions& options) override {
    const std::string name = timeline_.begin("all_gather");
    return watched(inner_->_allgather_base(whole, own, options), name);
  }

 private:
  Work watched(Work inner, const std::string& name) {
    return c10::make_intrusive<WatchedWork>(std::move(inner), name, timeline_);
  }

  c10::intrusive_ptr<c10d::Backend> inner_;
  Timeline& timeline_;
};

}  // namespace headroom
