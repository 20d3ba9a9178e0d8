// Ranks that share every matrix of a model (tensor parallelism): cuts the parameters, and puts them
// together again.
//
// Note [Drawn whole and cut]
// Rationale: a model on any mesh should be the model that one rank would have from the same seed.
// Approach: every rank makes a block whole, by the same random numbers, and keeps what
//   train/parallel/tensor/tensor_plan.h says; then comes the next block. A parameter stays the
//   tensor it is, of a smaller shape.
// Limits: what does not divide evenly leaves the last rank with less (the vocabulary), or is
//   refused (heads, d_ff: train/parallel/rules.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "train/data/weights.h"
#include "train/parallel/ranks/rank_group.h"
#include "train/parallel/tensor/tensor_plan.h"

namespace headroom {

class TensorParallel {
 public:
  // by_tokens: sequence parallelism.
  TensorParallel(std::shared_ptr<RankGroup> ranks, bool by_tokens)
      : ranks_(std::move(ranks)), by_tokens_(by_tokens) {}

  LayerFactory layers(const LayerFactory& whole) const;
  // Cuts a block that has just been made, one after the other; then what else the model has.
  void take(int64_t layer, TransformerBlock& block);
  void take_rest(Transformer& model);

  torch::Tensor loss(const torch::Tensor& logits_BSV, const torch::Tensor& targets_BS) const;

  // Whether every rank has all of it, and so all of its gradient.
  bool is_whole(const std::string& parameter) const;
  // Whether this rank counts it where all ranks' are counted: of what all have, one does.
  bool counts(const std::string& parameter) const {
    return !is_whole(parameter) || ranks_->rank() == 0;
  }
  // Of whole tensors by the parameters' names, this rank's.
  NamedTensors own(const NamedTensors& whole) const;
  // The shape of the whole parameter.
  std::vector<int64_t> whole_sizes(const std::string& parameter, const torch::Tensor& own) const;
  // Where in it the rank's part begins, along each dimension.
  std::vector<int64_t> offsets(const std::string& parameter, const torch::Tensor& own) const;
  // Puts together what every rank has of `own`, which are as the parameters, there or on the host;
  // what is put together lies where they did. device: the ranks'. All of them have to ask.
  NamedTensors whole(const NamedTensors& own, torch::Device device) const;

  // With sequence parallelism every rank has the gradient that its tokens give of what is whole:
  // they are added up. names: of the parameters that the gradients are of.
  void finish_gradients(const std::vector<std::string>& names,
                        const std::vector<torch::Tensor>& gradients) const;

  // Into how many parts tokens are split between layers.
  int64_t token_parts() const { return by_tokens_ ? ranks_->size() : 1; }
  RankGroup& ranks() const { return *ranks_; }

 private:
  struct Cut {
    int64_t dim = 0;
    int64_t whole = 0;  // elements along it
  };

  void cut(const std::string& name, torch::Tensor& parameter);
  Range range(const Cut& cut) const { return part_of(cut.whole, ranks_->size(), ranks_->rank()); }

  std::shared_ptr<RankGroup> ranks_;
  bool by_tokens_;
  std::map<std::string, Cut> cuts_;  // by parameter; what is not here is whole
};

}  // namespace headroom
