// The memory that a run needs by its operations alone, one row per tensor. No torch here.
//
// Start here: theory_rows(). A total is the sum of its rows and nothing else, so a wrong number can
// be found in its row.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/theory/activations/blocks.h"
#include "train/settings/memory_space.h"
#include "train/settings/spec.h"
#include "train/settings/vocabulary/dtype.h"

namespace headroom {

// Groups, in the order of theory_rows(). A row of kBlock is of each block that keeps it; every
// other group is of the whole model.
inline constexpr const char* kBlock = "block";
inline constexpr const char* kEmbedding = "embedding";
// The input of a recomputed group of blocks, if it is kept in a form that no block made.
inline constexpr const char* kCheckpointInputs = "checkpoint inputs";
inline constexpr const char* kFinalNorm = "final norm";
inline constexpr const char* kHead = "head";
inline constexpr const char* kLoss = "loss";
// Memory of one checkpoint recomputation at its end, one group of blocks at a time: not saved, in
// no sum of activations. Its cast weights are a group of their own, like kept ones.
inline constexpr const char* kRecomputed = "recomputed";
inline constexpr const char* kRecomputedCast = "recomputed casts";
// On the host until backward: --activations offload.
inline constexpr const char* kOffloaded = "offloaded activations";
// On the host or the disk for good: --param-offload, --optimizer-offload.
inline constexpr const char* kHostParameters = "parameters on the host";
inline constexpr const char* kDiskParameters = "parameters on the disk";
inline constexpr const char* kHostMasters = "master weights on the host";
inline constexpr const char* kHostOptimizerState = "optimizer state on the host";
inline constexpr const char* kHostGradients = "gradients on the host";
inline constexpr const char* kParameters = "parameters";
inline constexpr const char* kMasterWeights = "master weights";
inline constexpr const char* kGradients = "gradients";
inline constexpr const char* kOptimizerState = "optimizer state";
// The state's next values, before the old ones are freed: at its fullest the state is both.
inline constexpr const char* kOptimizerNextState = "optimizer state, next values";
inline constexpr const char* kOptimizerTemporaries = "optimizer temporaries";
// While the gradients are clipped, before the update.
inline constexpr const char* kClipping = "clipping temporaries";
inline constexpr const char* kLossScaler = "loss scaler";
inline constexpr const char* kCastCache = "cast cache";
inline constexpr const char* kPassingCast =
    "passing cast";  // not kept: one at a time, or one block's
inline constexpr const char* kTables = "tables";
inline constexpr const char* kInputs = "inputs";
inline constexpr const char* kBatchLoss = "batch loss";  // of micro-batches

// Note [Storages, not saves]
// Rationale: autograd saves a tensor once for every node that needs it: a norm's output three times
//   for the three projections, a block's input twice. Its memory exists once. A sum over
//   saved-tensor hooks (the 1565.7 MiB per block published for 2.7B) is therefore nearly twice the
//   memory.
// Approach: a row is one storage, or several equal ones, and lists every save of it. A save of
//   memory that another row counts (a weight, a rotary table, the block's input) is a row of zero
//   storages. Both sums come from the same rows: total() and hook_tally().
// Limits: holds for the operation sequence of model/ with libtorch 2.11.
//
// Note [Blocks that differ]
// Rationale: a technique may treat some blocks in its own way (every third is recomputed in
//   backward), so no block represents all.
// Approach: a row of kBlock has the blocks that keep it. A technique removes rows from its blocks
//   (drop) and adds rows for the memory that it makes instead. A model's bytes are a sum over rows,
//   each times its blocks.
// Limits: plan/ multiplies the rows of one block by the layers; its blocks are all alike.
struct Row {
  std::string group;
  Blocks blocks;               // that keep it; none = the whole model's
  std::string tensor;          // with its shape suffix, as in model/: "scores_BHST"
  std::string symbols;         // "B, H, S, T"
  std::vector<int64_t> sizes;  // the same in numbers
  DType dtype = DType::kFp32;
  MemorySpace space = MemorySpace::kDevice;
  int64_t storages = 1;               // 0 = memory counted by another row
  int64_t bytes = 0;                  // product of sizes * element size * storages, of one block
  std::string derivation;             // "B*H*S*T * 4 B = 4*32*512*512 * 4 B"
  std::string condition;              // why it is kept, or when
  std::string source;                 // "model/attention.cpp eager_attention: where"
  std::vector<std::string> saved_by;  // one entry per save: "PowBackward0.self"
  bool measured = true;           // false: derived from the CUDA operation lists, not run on a card
  bool gradient = true;           // goes through it; else no technique changes its form
  bool on_host_too = false;       // a row of kOffloaded counts its copy
  std::optional<DType> saved_as;  // autograd's type, if another form is kept

  int64_t bytes_each() const;   // of one storage
  int64_t all_bytes() const;    // of all of them, in one block
  int64_t model_bytes() const;  // `bytes` times the blocks
};

// Every row of the run. Throws UsageError on shapes that do not fit together, and if --attention
// names a kernel that does not run.
std::vector<Row> theory_rows(const RunSpec& spec);

// Sum of the rows of one group, a block's counted once.
int64_t total(const std::vector<Row>& rows, std::string_view group);

// The same, a block's counted once per block that keeps it.
int64_t model_total(const std::vector<Row>& rows, std::string_view group);

// Number of storages in the rows of one group, a block's counted once.
int64_t storages(const std::vector<Row>& rows, std::string_view group);

// The rows of kBlock that one block has.
std::vector<Row> rows_of_block(const std::vector<Row>& rows, int64_t block);

// Blocks with the same rows, in the order of the first of each.
std::vector<Blocks> blocks_alike(const std::vector<Row>& rows, int64_t layers);

// `blocks` keep only those rows of kBlock that satisfy `keeps`. A row without a block is removed.
void drop(std::vector<Row>& rows, const Blocks& blocks,
          const std::function<bool(const Row&)>& keeps);

// Bytes saved for backward by the whole model: every block, embedding, final norm, head, loss.
int64_t activation_bytes(const std::vector<Row>& rows);

// Memory that one middle block saves for backward: storages made while it runs that are alive when
// the forward ends, with its output, without cast weights.
int64_t residual_bytes_per_block(const RunSpec& spec);
int64_t residual_tensors_per_block(const RunSpec& spec);

// One block's saves as a saved-tensor hook counts them: every save, with weights' transposes.
struct HookTally {
  int64_t tensors = 0;
  int64_t bytes = 0;
};
HookTally hook_tally(const std::vector<Row>& rows, std::string_view group);

// By the category names of the measurement. Each is at the category's own fullest instant:
// activations at the end of the forward (or of the loss), gradients at the end of backward,
// optimizer state when the largest tensor has its old and its new values, "recomputed" (if
// checkpointing recomputes) at the end of the largest recomputation. The peak of the step is
// included if has_predicted_peak() (peak.h). --device auto must already be the device of the run.
std::map<std::string, int64_t> predicted(const RunSpec& spec);

// For a rank of the spec's mesh, if has_predicted_peak(): the peak of its step, and the bytes that
// its collectives move, by moved_key().
struct PredictedRank {
  int64_t peak_allocated = 0;  // 0 = unknown
  std::map<std::string, int64_t> moved;
};
PredictedRank predicted_of_rank(const RunSpec& spec, int64_t rank);

// Autocast has one list of operations per device type. Theory follows the CPU list for
// --device cpu and the CUDA list for everything else.
inline bool follows_cpu_policy(const RunSpec& spec) { return spec.device.kind == DeviceKind::kCpu; }

}  // namespace headroom
