// Every optimizer of train/optim/table.h in each of its implementations: the parameters of contract
// test suites.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "train/optim/optimizer.h"

namespace headroom {

struct OptimizerCase {
  OptimizerKind kind = OptimizerKind::kAdamw;
  OptimizerImpl impl = OptimizerImpl::kReference;
};

inline std::vector<OptimizerCase> every_optimizer() {
  std::vector<OptimizerCase> cases;
  for (const OptimizerInfo& info : optimizers()) {
    for (const OptimizerImpl impl : info.implementations) cases.push_back({info.kind, impl});
  }
  return cases;
}

// "adam_mini" for adam-mini.
inline std::string file_name(OptimizerKind kind) {
  std::string name = to_string(kind);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// "adam_mini_reference"
inline std::string name_of_case(const testing::TestParamInfo<OptimizerCase>& info) {
  return file_name(info.param.kind) + "_" + to_string(info.param.impl);
}

// A default spec with that optimizer.
inline RunSpec spec_of(const OptimizerCase& which) {
  RunSpec spec;
  spec.optimizer = which.kind;
  spec.optimizer_impl = which.impl;
  return spec;
}

// All parameters get the same name, from which Adam-mini takes their kind. `spec` must outlive it.
inline MakeOptimizer maker_of(const RunSpec& spec) {
  return [&spec](std::vector<torch::Tensor> parameters, size_t) {
    const std::vector<std::string> names(parameters.size(), "ffn.w1.weight");
    return make_optimizer(spec, std::move(parameters), {names});
  };
}

}  // namespace headroom
