// Gradients of weights that wait: a backward makes what goes on to the layer before and leaves them
// for later.
//
// Note [Gradients that wait]
// Rationale: a pipeline stage keeps the one before it waiting for the gradient of its input alone;
//   the gradients of its weights, half of a backward's products, are nobody's until the update, and
//   can be made where the stage would have nothing to do (Qi et al. 2023, "Zero Bubble Pipeline
//   Parallelism").
// Approach: a set of layers (Note [Layers by kernels]) in which everything that multiplies by a
//   matrix does so in a node of its own. In backward it gives the input's gradient, and lays aside
//   its input and its output's gradient, under the micro-batch that runs. Later make() multiplies
//   the two and hands the product to the node that accumulates the weight's gradient, as autograd
//   would have: whoever waits for complete gradients (train/gradient_hooks.h) hears of it then. The
//   products are those of einsum's own backward, of the same operands in the same order, so that a
//   step's numbers are those of a step in which nothing waits. The gradient of a norm's weight, one
//   number a column, is made in backward and added later: a block's gradients are complete
//   together. The token table has nothing behind it that would wait; its gradient is complete in
//   backward.
// Limits: inputs of matrices and gradients of their outputs live until make(), also where the
//   forward keeps less and restores them for backward (recomputation, 8 bits): a stage may have
//   more than under 1f1b, one of the last much more, though none keeps more micro-batches than
//   1f1b's first. FP8 products have a backward of their own: train/parallel/rules.cpp refuses them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "model/layer_factory.h"
#include "model/torch.h"

namespace headroom {

class WaitingGradients : public std::enable_shared_from_this<WaitingGradients> {
 public:
  // Those of `layers`, whose products and norms are as model/layers.h has them. They share this.
  LayerFactory layers(const LayerFactory& layers);

  // What backwards lay aside from now on is this micro-batch's.
  void begin(int64_t micro_batch) { now_ = micro_batch; }
  // Makes what its backward has laid aside, in that order, and adds it up.
  void make(int64_t micro_batch);
  // Of a step that failed in the middle.
  void clear() { waiting_.clear(); }

  // Of a layer in this set: x W^T, and a leaf of the weight's memory for another operation.
  Tensor product(const Tensor& x, const Tensor& weight_OI);
  Tensor seen(const Tensor& weight);

 private:
  struct Waiting {
    Tensor weight;
    Tensor x, dy_1NO;  // of a product, until it is made
    Tensor gradient;
  };
  struct Product;
  class Seen;

  std::map<int64_t, std::vector<Waiting>> waiting_;  // by micro-batch
  int64_t now_ = 0;
};

}  // namespace headroom
