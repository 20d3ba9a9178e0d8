// The ranks along one axis of a mesh: what they do together, and how many bytes it moves.
#pragma once

#include <array>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "model/torch.h"
#include "train/parallel/ranks/collective.h"

namespace headroom {

// Every call returns at once; the tensors are whole when its Work has been waited for, and are to
// be left alone until then. All ranks call the same in the same order. Throws c10::Error where
// another one is gone, or did not come in the time that the group waits.
class RankGroup {
 public:
  using Work = c10::intrusive_ptr<c10d::Work>;
  // Of the whole of what is added up, gathered or scattered, not of one rank's part of it: what the
  // formulas of the schemes are in.
  struct Moved {
    int64_t calls = 0;
    int64_t bytes = 0;
  };

  explicit RankGroup(c10::intrusive_ptr<c10d::Backend> backend) : backend_(std::move(backend)) {}

  int64_t rank() const { return backend_->getRank(); }
  int64_t size() const { return backend_->getSize(); }

  // Sums in place.
  Work all_reduce(std::vector<torch::Tensor> tensors);
  // The highest of each element, in place.
  Work all_max(torch::Tensor tensor);
  // Whether it is so for every rank; waits. device: of the tensor that says it.
  bool all(bool here, torch::Device device);
  // own: the sum of this rank's part of `whole`, which is of equal parts; one of those, or
  // elsewhere.
  // Both contiguous, as in all_gather().
  Work reduce_scatter(torch::Tensor own, torch::Tensor whole);
  // Of several pairs at once, in one call.
  Work reduce_scatter(std::vector<torch::Tensor> own, std::vector<torch::Tensor> whole);
  // own: this rank's part of `whole`; one of it, or elsewhere.
  Work all_gather(torch::Tensor whole, torch::Tensor own);

  // To and from one rank of the group; `tag` tells what is under way between two of them at once.
  Work send(torch::Tensor tensor, int64_t to, int tag);
  Work receive(torch::Tensor tensor, int64_t from, int tag);

  const Moved& moved(Collective kind) const { return moved_.at(static_cast<size_t>(kind)); }

 private:
  // One call, and the bytes of these.
  void count(Collective kind, const std::vector<torch::Tensor>& tensors);

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::array<Moved, 5> moved_ = {};
};

}  // namespace headroom
