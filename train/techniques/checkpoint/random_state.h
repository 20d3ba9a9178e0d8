// The state of the random number generators, so that draws can be repeated.
//
// Note [Random numbers in a recomputation]
// Rationale: a recomputation must repeat the forward's random masks, and must not change later
//   draws.
// Approach: reads libtorch's default generators of the CPU and of one card, without a tensor and
//   without waiting for the card. Their state is kept only if a function has moved them; then it is
//   set, and restored, around the recomputation.
// Limits: a user's own generators are not covered. Inside a captured CUDA graph a card's generator
//   can be read but not set back: recomputing a function that draws there is refused; functions
//   that do not draw are captured normally.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <memory>
#include <optional>

#include "model/torch.h"

namespace headroom {

class RandomState {
 public:
  // The current state of the CPU's generator and, if `device` is a card, of that card's.
  static RandomState now(torch::Device device);

  // True if a draw or a new seed has changed a generator since.
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

// While alive, draws start from `state`; afterwards from where they were.
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
