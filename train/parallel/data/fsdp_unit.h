// One FSDP unit: the parameters of one part of a model (a block, the token table, the head) as one
// flat tensor, sharded equally over the replicas, and their gradients until the update.
//
// Note [Shared by replicas]
// Rationale: replicas that update the same weights with the same gradients need only one optimizer
//   between them, one copy of the summed gradients and, while nothing computes with them, one copy
//   of the weights (Rajbhandari et al. 2020, "ZeRO", section 5).
// Approach: Note [Flat units]. As backward completes gradients, each is copied into a flat tensor
//   and freed; when all are in it, its reduce-scatter can begin. With ZeRO-1 the flat tensor stays
//   until the end of the step, several micro-batches accumulate in it, and the last backward sends.
//   With ZeRO-2 and 3 every backward sends, the tensor is freed after its reduce-scatter, and the
//   sums accumulate. After an update ZeRO-1 and 2 gather the new parts in place. With ZeRO-3 the
//   flat tensor's memory comes and goes: fetch() is an all-gather. If replicas share in groups
//   (Note [Groups that share]), the step's sum is all-reduced over the copies when the last
//   micro-batch's is there, beside the backward of the earlier units.
// Limits: updates must work element by element, or on blocks of 256.
//
// Note [Memory that a collective uses]
// Rationale: NCCL's collectives run on their own streams, which the caching allocator does not
//   track: freed memory is reused in the order of the stream that freed it. The host should run
//   ahead of the card, not wait for it.
// Approach: all our memory is allocated, used and freed on the compute stream. A collective begins
//   after that stream's work so far, which includes earlier uses of the memory. Work::wait() does
//   not block the host: it makes that stream wait for the collective. So memory is freed right
//   after the wait, and only then: its next user comes later on the stream than the collective and
//   than the kernels that read its result. When a tensor's last owner drops it, libtorch's Work
//   still holds it until the wait. This does not cover a storage whose memory is taken away under a
//   tensor, so drop() waits first. Nothing is recorded on a second stream: the allocator's peaks do
//   not depend on event timing.
// Limits: code that computes on several streams must order them itself. fetch() begins after the
//   kernels of earlier blocks, whose memory it may get; it runs beside the next ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/data/weights.h"
#include "train/hooks/memory_tags.h"
#include "train/parallel/data/flat_parameter.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// The replicas that share with this one, and those with the same parts (null: none).
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
  // This replica's pieces, flat, by parameter name; and their ranges in the parameters.
  const NamedTensors& pieces() const { return pieces_; }
  const std::vector<FlatParameter::Piece>& ranges() const { return ranges_; }
  void listen(MemoryTags* tags);

  // ZeRO-3: fetch() allocates the whole parameters and begins the all-gather; wait() returns when
  // it is complete; drop() frees them. Each does nothing if it has nothing to do.
  void fetch();
  void wait();
  void drop();

  // Sets the receiver of each piece's gradient, the sum over the replicas, whenever it is ready.
  // The unit then accumulates nothing. Not allowed with copies.
  void send_to(std::function<void(size_t piece)> sink) { sink_ = std::move(sink); }

  // Call before a backward. sends: its gradients are summed over the replicas; last: the step's
  // last backward.
  void begin_backward(bool sends, bool last) {
    sends_ = sends;
    is_last_ = last;
  }
  // The gradient of a parameter is complete. True if it was the last one: the sum can begin.
  bool take(size_t parameter);
  // Begins the reduce-scatters of units that have all their gradients, in one call.
  static void begin_sums(const std::vector<FsdpUnit*>& units);
  // Waits for the sum that began, and begins the sum over the copies.
  void settle();
  // Sets the pieces' gradients: the sums of all micro-batches, divided by the replicas. Throws
  // c10::Error if backward completed none.
  void give_gradients();
  void free_gradients();

  // ZeRO-1 and 2: begins gathering the new parts of all replicas, complete after wait().
  void gather_updates();

  // Gathers whole tensors on the host from the parts in `own`, a vector for each of pieces(). Every
  // replica must call this.
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
  torch::Tensor flat_;  // all parameters; without memory while dropped
  torch::Tensor part_;  // this replica's part
  NamedTensors pieces_;
  std::vector<FlatParameter::Piece> ranges_;  // of the pieces
  RankGroup::Work gathering_;
  bool is_there_ = true;

  torch::Tensor gradients_;  // flat
  torch::Tensor sum_;        // this replica's part, summed over the sharers and micro-batches
  torch::Tensor summing_;
  // Shared by all units whose sums began in one call, and waited for once: every wait of Gloo's
  // copies the results again, over later changes.
  std::shared_ptr<RankGroup::Work> adding_up_;
  RankGroup::Work adding_up_copies_;  // sum_, in place
  bool sends_ = false;
  bool is_last_ = false;
  bool sum_is_last_ = false;  // the sum that began is the step's last
  std::function<void(size_t piece)> sink_;
  bool has_given_ = false;  // in this step
  size_t missing_ = 0;      // gradients, in the backward that runs
  MemoryTags* tags_ = nullptr;
};

}  // namespace headroom
