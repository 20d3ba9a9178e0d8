#include "train/optim/sgd.h"

#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

namespace headroom {
namespace {

using torch::Tensor;

// Without weight decay, which torch adds to the gradient, ours is torch's own.
TEST(Sgd, UpdatesAreThoseOfTorchInEveryImplementation) {
  for (const OptimizerImpl impl : info_of(OptimizerKind::kSgd).implementations) {
    torch::manual_seed(3);
    std::vector<Tensor> p = {torch::randn({4, 6}), torch::randn({5})};
    std::vector<Tensor> theirs = {p[0].clone(), p[1].clone()};
    Sgd optimizer(p, impl, {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0});
    torch::optim::SGD expected(theirs, torch::optim::SGDOptions(0.1).momentum(0.9));
    for (int t = 0; t < 5; ++t) {
      for (size_t i = 0; i < p.size(); ++i) {
        p[i].mutable_grad() = torch::randn_like(p[i]);
        theirs[i].mutable_grad() = p[i].grad().clone();
      }
      optimizer.step();
      expected.step();
      for (size_t i = 0; i < p.size(); ++i) {
        EXPECT_TRUE(torch::allclose(p[i], theirs[i], 1e-6, 1e-7)) << to_string(impl) << " " << t;
      }
    }
  }
}

TEST(Sgd, WeightDecayIsDecoupled) {
  Tensor p = torch::ones({3});
  p.mutable_grad() = torch::zeros({3});
  Sgd optimizer({p}, OptimizerImpl::kReference, {.learning_rate = 0.1, .weight_decay = 0.5});
  optimizer.step();
  EXPECT_TRUE(torch::allclose(p, torch::full({3}, 0.95)));
  optimizer.step();
  EXPECT_TRUE(torch::allclose(p, torch::full({3}, 0.95 * 0.95))) << "decay is not in the momentum";
}

}  // namespace
}  // namespace headroom
