// The parameters of one part of a model (a block, the token table, the head) as one flat tensor of
// which every replica owns an equal part, and their gradients on the way to who updates them.
//
// Note [Shared by replicas]
// Rationale: replicas that update the same weights by the same gradients need only one optimizer
//   between them, one copy of the gradients' sum and, while nothing computes with them, one of the
//   weights (Rajbhandari et al. 2020, "ZeRO", section 5).
// Approach: Note [Flat units]. As backward completes gradients they are copied into a flat tensor
//   and let go one by one; when it has all, a reduce-scatter of it can begin. With ZeRO-1 that
//   tensor stays to the end of the step, gradients of several micro-batches add up in it, and the
//   last one's backward sends; with ZeRO-2 and 3 every backward sends, the tensor goes when its sum
//   is there, and the sums add up. After an update ZeRO-1 and 2 gather the new parts in place. With
//   ZeRO-3 the flat tensor's memory comes and goes: fetch() is an all-gather.
// Limits: updates that look at one element, or at blocks of 256, at a time.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "train/data/weights.h"
#include "train/memory_claims.h"
#include "train/parallel/flat_unit.h"
#include "train/parallel/rank_group.h"

namespace headroom {

class ShardedUnit {
 public:
  // The parameters become views of the flat tensor. zero: 1 to 3.
  ShardedUnit(std::string name, const NamedTensors& parameters, int64_t zero,
              std::shared_ptr<RankGroup> replicas);

  const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }
  torch::TensorOptions options() const { return part_.options(); }
  // What this replica owns, flat, by the names of the parameters that it is of; and where in them.
  const NamedTensors& pieces() const { return pieces_; }
  const std::vector<FlatUnit::Piece>& ranges() const { return ranges_; }
  void listen(MemoryClaims* claims);

  // ZeRO-3: the whole parameters' memory comes, and their numbers begin to; they are there when
  // wait() returns; they go. Each does nothing where it is so already.
  void fetch();
  void wait();
  void drop();

  // Before a backward; sends: whether its gradients are to be added up over the replicas.
  void begin_backward(bool sends) { sends_ = sends; }
  // The gradient of a parameter is complete. True: it was the last one, and their sum can begin.
  bool take(size_t parameter);
  // Begins the sums of units that have all their gradients, in one call.
  static void begin_sums(const std::vector<ShardedUnit*>& units);
  // The sum that began is there.
  void settle();
  // The pieces' gradients: the sums of all micro-batches, divided by the replicas. Throws
  // c10::Error where a backward brought none.
  void give_gradients();
  void free_gradients();

  // ZeRO-1 and 2: the new parts of all replicas, on their way until wait().
  void gather_updates();

  // The whole of what `own` has a part of, a vector for each of pieces(), on the host. Every
  // replica has to call it.
  NamedTensors whole(const std::vector<torch::Tensor>& own, torch::Dtype dtype) const;

 private:
  torch::Tensor place_in(const torch::Tensor& flat, size_t parameter) const;
  torch::Tensor own_part(const torch::Tensor& flat) const;
  void make_pieces();

  std::string name_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  int64_t zero_;
  std::shared_ptr<RankGroup> group_;
  FlatUnit layout_;
  torch::Tensor flat_;  // all parameters; without memory while they are away
  torch::Tensor part_;  // this replica's
  NamedTensors pieces_;
  std::vector<FlatUnit::Piece> ranges_;  // of the pieces
  RankGroup::Work gathering_;
  bool is_there_ = true;

  torch::Tensor gradients_;  // flat
  torch::Tensor sum_;        // of this replica's part, over the replicas and micro-batches
  torch::Tensor summing_;
  // Of all units whose sums began in one call, and waited for once: Gloo's copies its results at
  // every wait, over what has been made of them since.
  std::shared_ptr<RankGroup::Work> adding_up_;
  bool sends_ = false;
  size_t missing_ = 0;  // gradients, in the backward that runs
  MemoryClaims* claims_ = nullptr;
};

}  // namespace headroom
