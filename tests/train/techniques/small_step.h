// A step of a small model and its results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/train/support/own_directory.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"

namespace headroom {

struct SmallStep {
  explicit SmallStep(const RunSpec& asked)
      : spec(asked), directory(spec), data(spec, spec.vocab_size, kCpu, 100) {
    std::vector<std::string> notes;
    step = build_step(spec, kCpu, &notes);
  }

  // The loss of step `index` of the run.
  double run(int64_t index = 0) { return step->run(data.batch(index)).item<double>(); }
  std::vector<double> run_steps(int64_t count) {
    std::vector<double> losses;
    for (int64_t i = 0; i < count; ++i) losses.push_back(run(i));
    return losses;
  }
  std::vector<torch::Tensor> parameters() const {
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& p : step->model()->parameters()) all.push_back(p.detach().clone());
    return all;
  }
  std::vector<torch::Tensor> gradients() const {
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& p : step->model()->parameters()) all.push_back(p.grad());
    return all;
  }

  static constexpr auto kCpu = torch::kCPU;
  RunSpec spec;
  OwnDirectory directory;
  Data data;
  std::unique_ptr<Step> step;
};

inline bool bit_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const torch::Tensor& one, const torch::Tensor& other) { return one.equal(other); });
}

// The largest |a - b| / |b| over the tensors, L2 norms. Infinite if a value is not finite.
inline double distance(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const torch::Tensor relative = (a[i] - b[i]).norm() / b[i].norm();
    const double value = relative.item<double>();
    largest = std::max(largest, std::isfinite(value) ? value : HUGE_VAL);
  }
  return largest;
}

// A step that runs out of memory in the backward of a micro-batch, counted from 1, changes nothing:
// when repeated, it and the later ones are as without the failure.
inline void expect_a_failed_backward_changes_nothing(const RunSpec& spec, int micro_batch = 1) {
  SmallStep usual(spec);
  SmallStep failing(spec);
  int left = 0;  // backwards until one fails; none does from 0 on
  failing.step->model()->named_parameters()["layers.1.ln1.weight"].register_hook(
      [&](const torch::Tensor&) {
        TORCH_CHECK_WITH(OutOfMemoryError, --left != 0, "no memory left");
      });
  std::vector<double> losses = {failing.run(0)};
  left = micro_batch;
  EXPECT_THROW(failing.run(1), c10::OutOfMemoryError);
  losses.push_back(failing.run(1));
  losses.push_back(failing.run(2));
  EXPECT_EQ(losses, usual.run_steps(3));
  EXPECT_TRUE(bit_equal(failing.parameters(), usual.parameters()));
}

}  // namespace headroom
