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
//   ZeRO-3 the flat tensor's memory comes and goes: fetch() is an all-gather. Of replicas that
//   share in groups (Note [Groups that share]) the sum of a step's micro-batches is added up over
//   the copies when the last one's is there, beside the backward of the units before it.
// Limits: updates that look at one element, or at blocks of 256, at a time.
//
// Note [Memory that a collective uses]
// Rationale: NCCL's collectives run on streams of their own, which the caching allocator knows
//   nothing of: memory that is let go is used again, in the order of the stream that let it go, by
//   whoever asks next. And the host shall run ahead of the card, not wait for it.
// Approach: all of ours is allocated, used and let go on the one stream that computes. A collective
//   begins after what that stream has been given so far, which has what used the memory before it;
//   Work::wait() keeps the host from nothing: it makes that stream wait for the collective. So
//   memory is let go after the wait alone, and then right away: its next user comes later on the
//   stream than the collective and than the kernels that read what it brought. A tensor that its
//   last owner leaves is held by the Work until the wait, as libtorch has it; a storage whose
//   memory is taken away under a tensor is not, so drop() waits first. Nothing is recorded on a
//   second stream: what peaks the allocator sees does not hang on when events are done.
// Limits: who computes on several streams has to order them himself. fetch() begins after the
//   kernels of blocks that ran before, whose memory it may have; it runs beside the next ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/data/weights.h"
#include "train/memory_tags.h"
#include "train/parallel/data/flat_parameter.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// Whom a replica shares with, and which have the same parts as it (null: nobody).
struct SharingRanks {
  std::shared_ptr<RankGroup> sharers;
  std::shared_ptr<RankGroup> copies;

  int64_t replicas() const { return sharers->size() * (copies ? copies->size() : 1); }
};

class FsdpUnit {
 public:
  // The parameters become views of the flat tensor. zero: 1 to 3.
  FsdpUnit(std::string name, const NamedTensors& parameters, int64_t zero, SharingRanks ranks);

  const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }
  torch::TensorOptions options() const { return part_.options(); }
  // What this replica owns, flat, by the names of the parameters that it is of; and where in them.
  const NamedTensors& pieces() const { return pieces_; }
  const std::vector<FlatParameter::Piece>& ranges() const { return ranges_; }
  void listen(MemoryTags* tags);

  // ZeRO-3: the whole parameters' memory comes, and their numbers begin to; they are there when
  // wait() returns; they go. Each does nothing where it is so already.
  void fetch();
  void wait();
  void drop();

  // Who takes a piece's gradient, the sum over the replicas, each time that it is there; nothing is
  // added up here then. Not where there are copies.
  void send_to(std::function<void(size_t piece)> sink) { sink_ = std::move(sink); }

  // Before a backward. sends: whether its gradients are to be added up over the replicas; last: of
  // the step.
  void begin_backward(bool sends, bool last) {
    sends_ = sends;
    is_last_ = last;
  }
  // The gradient of a parameter is complete. True: it was the last one, and their sum can begin.
  bool take(size_t parameter);
  // Begins the sums of units that have all their gradients, in one call.
  static void begin_sums(const std::vector<FsdpUnit*>& units);
  // The sum that began is there; that over the copies begins.
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
  void set_gradients(const torch::Tensor& sum);
  void give();

  std::string name_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  int64_t zero_;
  SharingRanks ranks_;
  FlatParameter layout_;
  torch::Tensor flat_;  // all parameters; without memory while they are away
  torch::Tensor part_;  // this replica's
  NamedTensors pieces_;
  std::vector<FlatParameter::Piece> ranges_;  // of the pieces
  RankGroup::Work gathering_;
  bool is_there_ = true;

  torch::Tensor gradients_;  // flat
  torch::Tensor sum_;        // of this replica's part, over the sharers and micro-batches
  torch::Tensor summing_;
  // Of all units whose sums began in one call, and waited for once: Gloo's copies its results at
  // every wait, over what has been made of them since.
  std::shared_ptr<RankGroup::Work> adding_up_;
  RankGroup::Work adding_up_copies_;  // sum_, in place
  bool sends_ = false;
  bool is_last_ = false;
  bool sum_is_last_ = false;  // of the step, which began
  std::function<void(size_t piece)> sink_;
  bool has_given_ = false;  // in this step
  size_t missing_ = 0;      // gradients, in the backward that runs
  MemoryTags* tags_ = nullptr;
};

}  // namespace headroom
