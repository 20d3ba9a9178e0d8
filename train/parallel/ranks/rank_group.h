// The ranks along one axis of a mesh: their collectives, and the bytes moved.
#pragma once

#include <array>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "model/torch.h"
#include "train/parallel/ranks/collective.h"

namespace headroom {

// Every call returns at once. The tensors are complete after waiting for its Work and must not be
// touched before. All ranks make the same calls in the same order. Throws c10::Error if another
// rank is gone or does not come within the timeout.
class RankGroup {
 public:
  using Work = c10::intrusive_ptr<c10d::Work>;
  // Counts the whole tensor that is summed, gathered or scattered, not one rank's part, as the
  // formulas of the schemes do.
  struct Moved {
    int64_t calls = 0;
    int64_t bytes = 0;
  };

  explicit RankGroup(c10::intrusive_ptr<c10d::Backend> backend) : backend_(std::move(backend)) {}

  int64_t rank() const { return backend_->getRank(); }
  int64_t size() const { return backend_->getSize(); }

  // Sums in place.
  Work all_reduce(std::vector<torch::Tensor> tensors);
  // The maximum of each element, in place.
  Work all_max(torch::Tensor tensor);
  // True if `here` is true on every rank; waits. device: where the flag tensor is.
  bool all(bool here, torch::Device device);
  // own: this rank's part of the sum of `whole`, which has equal parts; inside `whole` or
  // elsewhere.
  // Both contiguous, as in all_gather().
  Work reduce_scatter(torch::Tensor own, torch::Tensor whole);
  // Several pairs in one call.
  Work reduce_scatter(std::vector<torch::Tensor> own, std::vector<torch::Tensor> whole);
  // own: this rank's part of `whole`; inside it or elsewhere.
  Work all_gather(torch::Tensor whole, torch::Tensor own);

  // To and from one rank of the group; `tag` separates concurrent messages of two ranks.
  Work send(torch::Tensor tensor, int64_t to, int tag);
  Work receive(torch::Tensor tensor, int64_t from, int tag);

  const Moved& moved(Collective kind) const { return moved_.at(static_cast<size_t>(kind)); }

 private:
  // Counts one call, and the bytes of the tensors.
  void count(Collective kind, const std::vector<torch::Tensor>& tensors);

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::array<Moved, 5> moved_ = {};
};

}  // namespace headroom
