// Tensor parallelism: cuts every matrix of a model over ranks, and gathers it again.
//
// Note [Drawn whole and cut]
// Rationale: a model on any mesh should be the model that one rank would have from the same seed.
// Approach: every rank makes a block whole, from the same random numbers, and keeps the part that
//   train/parallel/tensor/tensor_plan.h assigns, before it makes the next block. A parameter stays
//   the same tensor object, with a smaller shape.
// Limits: an uneven division leaves the last rank with less (the vocabulary), or is refused (heads,
//   d_ff: train/parallel/rules.h).
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
  // Cuts each block as soon as it is made; take_rest() cuts the rest of the model.
  void take(int64_t layer, TransformerBlock& block);
  void take_rest(Transformer& model);

  torch::Tensor loss(const torch::Tensor& logits_BSV, const torch::Tensor& targets_BS) const;

  // True if every rank has the whole parameter, and so its whole gradient.
  bool is_whole(const std::string& parameter) const;
  // True if this rank counts it in sums over all ranks: one rank counts whole parameters.
  bool counts(const std::string& parameter) const {
    return !is_whole(parameter) || ranks_->rank() == 0;
  }
  // This rank's parts of whole tensors, by parameter name.
  NamedTensors own(const NamedTensors& whole) const;
  // The shape of the whole parameter.
  std::vector<int64_t> whole_sizes(const std::string& parameter, const torch::Tensor& own) const;
  // The offsets of this rank's part in it, along each dimension.
  std::vector<int64_t> offsets(const std::string& parameter, const torch::Tensor& own) const;
  // Gathers whole tensors from every rank's `own`, shaped as the parameters, on the device or the
  // host; results are where the inputs are. device: the ranks'. All ranks must call this.
  NamedTensors whole(const NamedTensors& own, torch::Device device) const;

  // With sequence parallelism each rank's gradient of a whole parameter covers only its tokens, and
  // that of a norm of heads always only its heads: this sums them. names: the gradients'
  // parameters.
  void finish_gradients(const std::vector<std::string>& names,
                        const std::vector<torch::Tensor>& gradients) const;

  // Number of parts that tokens are split into between layers.
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
  std::map<std::string, Cut> cuts_;  // by parameter; parameters not here are whole
};

}  // namespace headroom
