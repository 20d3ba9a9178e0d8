// Where the generators of random numbers stand, so that what was drawn can be drawn again.
//
// Note [Random numbers in a recomputation]
// Rationale: a mask that was drawn in the forward must be the same when it is computed again, and
//   whoever draws after a recomputation must not notice it.
// Approach: the libtorch default generators of the CPU and of one card, read without a tensor and
//   without waiting for the card. Only where a function has moved them is their state kept, and set
//   and put back around its recomputation.
// Limits: generators of one's own are not seen. Inside a captured CUDA graph a card's generator can
//   be read but not set back: a function that draws there is refused when it is computed again;
//   those that do not draw are captured as they are.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <memory>
#include <optional>

#include "model/torch.h"

namespace headroom {

class RandomState {
 public:
  // Of now, of the CPU and, where `device` is a card, of that card.
  static RandomState now(torch::Device device);

  // Whether something has been drawn, or a seed set, since.
  bool has_moved() const;

 private:
  friend class RandomStateGuard;
  struct OfCard {
    uint64_t seed = 0;
    uint64_t offset = 0;  // inside a capture: within the graph
    bool captured = false;
    bool operator==(const OfCard&) const = default;
  };
  static std::optional<OfCard> of_card(torch::Device device);
  bool of_cpu_has_moved() const;
  void set() const;

  torch::Device device_ = torch::kCPU;
  std::shared_ptr<at::CPUGeneratorImpl> cpu_;  // a copy
  std::optional<OfCard> card_;
};

// While alive, random numbers are drawn from `state` on; then from where they were.
class RandomStateGuard {
 public:
  explicit RandomStateGuard(const RandomState& state);
  ~RandomStateGuard();
  RandomStateGuard(const RandomStateGuard&) = delete;
  RandomStateGuard& operator=(const RandomStateGuard&) = delete;

 private:
  RandomState before_;
};

}  // namespace headroom
