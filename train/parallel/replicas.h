// Replicas: ranks that compute on sequences of their own and train one model. What a step asks of
// them, whatever it is that they share (ZeRO; Rajbhandari et al. 2020):
//   0  nothing: gradients are added up (added_gradients.h)
//   1  an optimizer's part each; 2 and of the gradients; 3 and of the parameters (shards.h)
#pragma once

#include <vector>

#include "model/torch.h"
#include "train/data/weights.h"
#include "train/memory_claims.h"
#include "train/techniques/gradient_taker.h"

namespace headroom {

class Replicas {
 public:
  Replicas() = default;
  virtual ~Replicas() = default;
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  // Who hears what it makes; null: nobody. What is there is claimed at once.
  virtual void listen(MemoryClaims* /*claims*/) {}

  // Who takes the gradients, from now on: each sum over the replicas when it is there, of every
  // backward that sends; the mean is his to make. He lives as long.
  virtual void give_to(GradientTaker& taker) = 0;

  // Before anything of a step: the one before it may have failed in the middle.
  virtual void begin_step() {}
  // Before each forward of it from the token table on.
  virtual void begin_forward() {}
  // Before each backward; `last`: of the step.
  virtual void begin_backward(bool last) = 0;
  // And then, where it begins with the loss: other forwards and backwards may have come between.
  virtual void begin_backward_of_loss() {}
  // When each has ended.
  virtual void end_backward() {}
  // After the last: the optimizer's gradients are the mean of all replicas'. Throws c10::Error
  // where a parameter had none.
  virtual void finish() = 0;
  // After the optimizer: everybody has the new weights, or can have them.
  virtual void end_update() {}

  // Of numbers that each replica has of its own part of the gradients: their sum, in place.
  virtual void add_up(torch::Tensor& /*number*/) {}
  // Whether it is so for every replica.
  virtual bool all(bool here) { return here; }

  // The whole weights on the host, put together of every replica's; `masters`: of the optimizer's
  // copies of its parts instead, if it has some. All replicas have to ask at once. Empty: what the
  // step has is whole.
  virtual NamedTensors whole_weights(const std::vector<torch::Tensor>& /*masters*/) {
    return NamedTensors();
  }
};

}  // namespace headroom
