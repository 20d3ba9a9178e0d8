#include "plan/cost/model_cost.h"

#include <algorithm>

#include "profiling/theory/activations/checkpoint.h"
#include "profiling/theory/activations/forward.h"
#include "train/optim/partition.h"

namespace headroom {
namespace {

bool has_letter(const Row& row, char letter) {
  return row.symbols.find(letter) != std::string::npos;
}

// Sorts an activation by its split. Vocabulary-parallel loss keeps one value per token whole.
Extent extent_of(const Row& row, int64_t vocab_size) {
  Extent extent;
  const bool of_head = row.group == kHead || row.group == kLoss;
  if (has_letter(row, 'V')) {
    extent.vocabulary = row.bytes / vocab_size;
  } else if (has_letter(row, 'H') || has_letter(row, 'G') || has_letter(row, 'F')) {
    extent.split = row.bytes;
  } else if (has_letter(row, 'B') && !of_head) {
    extent.sequence = row.bytes;
  } else {
    extent.whole = row.bytes;
  }
  return extent;
}

// Note [The loss of a policy]
// Rationale: PPO needs the log-probability of each token and the entropy of its distribution; both
//   come from the logits of the whole vocabulary, and these are the largest tensors of a step.
// Approach: the tensors of headroom's own cross entropy (theory's rows of head and loss), and the
//   probabilities that the entropy keeps. When backward starts, two of them have gradients beside
//   the kept tensors: four numbers per logit in all, as measured in FP32, under autocast and with
//   BF16 weights (tests/virtual_gpu/plans/plan_test.py). A number is FP32, or BF16 with BF16
//   weights.
// Limits: fused losses, which never hold the logits, need less.
constexpr int64_t kPerLogitInBackward = 4;
constexpr int64_t kPerLogitInForward = 3;
constexpr int64_t kPerLogitOfEntropy = 1;

// Element size of the logits without autocast, and of the residual stream.
int64_t bytes_of_a_number(const BatchShape& shape) {
  return element_size(shape.weights == WeightType::kBf16 ? DType::kBf16 : DType::kFp32);
}

void add_logits(BatchCost& cost, Head head, const std::vector<Row>& rows, const BatchShape& shape,
                int64_t vocab_size) {
  const int64_t logits = bytes_of_a_number(shape) * shape.sequences * shape.tokens;
  Extent loss;
  for (const Row& row : rows) {
    if (row.group == kHead || row.group == kLoss) loss += extent_of(row, vocab_size);
  }
  cost.head += loss;
  if (head == Head::kPolicy) cost.head.vocabulary += kPerLogitOfEntropy * logits;
  cost.head_backward.vocabulary = kPerLogitInBackward * logits - loss.vocabulary;
}

// The part of a block that selective checkpointing recomputes. rows: a step that keeps everything.
Extent core_recomputed(RunSpec spec, std::vector<Row> rows) {
  Extent core;
  if (spec.attention != Attention::kEager) return core;
  spec.checkpoint = {CheckpointKind::kSelective};
  checkpoint_rows(spec, rows);
  for (const Row& row : rows) {
    if (row.group == kRecomputed) core += extent_of(row, spec.vocab_size);
  }
  return core;
}

}  // namespace

Extent& Extent::operator+=(const Extent& other) {
  split += other.split;
  vocabulary += other.vocabulary;
  sequence += other.sequence;
  whole += other.whole;
  return *this;
}

Extent operator*(int64_t times, const Extent& extent) {
  return {times * extent.split, times * extent.vocabulary, times * extent.sequence,
          times * extent.whole};
}

Extent operator-(const Extent& a, const Extent& b) { return a + -1 * b; }

int64_t Extent::on_rank(const Layout& layout, int64_t vocab_size) const {
  const int64_t tokens_split = layout.sequence_parallel ? layout.tp : 1;
  return shard(split, layout.tp) + vocabulary * shard(vocab_size, layout.tp) +
         shard(sequence, tokens_split) + whole;
}

int64_t ModelElements::total() const {
  return (embedding + config.layers * block + final).on_rank({}, config.vocab_size);
}

namespace {

// A row's name is the parameter's name and the letters of its shape.
const ParameterEntry& entry_of(const Row& row, const ModelConfig& config) {
  const std::vector<ParameterEntry>& entries = parameter_entries(config);
  return *std::find_if(entries.begin(), entries.end(), [&](const ParameterEntry& entry) {
    return row.tensor.starts_with(entry.full_name() + "_");
  });
}

// A rank has whole heads of query and key, and all output neurons of a matrix that is split by its
// inputs (the second of a pair).
ParameterTensor parameter_tensor(const Row& row, const ModelConfig& config, Head head) {
  const ParameterEntry& entry = entry_of(row, config);
  ParameterTensor tensor{.section = entry.section};
  const int64_t elements = row.bytes_each() / element_size(row.dtype);
  const int64_t blocks =
      row.sizes.front() / rows_per_block(row.tensor, row.sizes, config.head_dim());
  if (entry.split == Split::kWhole) {
    tensor.elements.whole = elements;  // a norm
    tensor.blocks.whole = blocks;
  } else if (head == Head::kValue && has_letter(row, 'V') &&
             entry.section == ModelSection::kFinal) {
    tensor.elements.whole = config.d_model;
    tensor.blocks.whole = 1;
  } else if (has_letter(row, 'V')) {
    tensor.elements.vocabulary = elements / config.vocab_size;
    tensor.blocks.vocabulary = blocks / config.vocab_size;
  } else {
    tensor.elements.split = elements;
    (entry.split == Split::kColumns ? tensor.blocks.whole : tensor.blocks.split) = blocks;
  }
  if (entry.is_hidden_matrix()) tensor.hidden = tensor.elements;
  return tensor;
}

}  // namespace

ModelElements model_elements(const ModelConfig& config, Head head) {
  ModelElements model{.config = config, .head = head};
  for (const Row& row : theory_rows(run_spec(config, {.sequences = 1, .tokens = 1}))) {
    if (row.group != kParameters) continue;
    const ParameterTensor tensor = parameter_tensor(row, config, head);
    if (tensor.section == ModelSection::kEmbedding) model.embedding += tensor.elements;
    if (tensor.section == ModelSection::kBlock) model.block += tensor.elements;
    if (tensor.section == ModelSection::kFinal) model.final += tensor.elements;
    model.tensors.push_back(tensor);
  }
  return model;
}

int64_t optimizer_bytes(const ModelElements& model, const Layout& layout, int64_t stage,
                        OptimizerKind optimizer, int64_t moment_bytes) {
  const auto copies = [&](ModelSection section) -> int64_t {
    if (section == ModelSection::kEmbedding) return stage == 0 ? 1 : 0;
    if (section == ModelSection::kFinal) return stage == layout.pp - 1 ? 1 : 0;
    return layers_of_stage(model.config.layers, layout.pp, stage);
  };
  const int64_t vocab_size = model.config.vocab_size;
  int64_t bytes = 0;
  ParameterSize all{.elements = stage_elements(model, layout, stage).total(), .blocks = 0};
  for (const ParameterTensor& tensor : model.tensors) {
    const ParameterSize here{.elements = tensor.elements.on_rank(layout, vocab_size),
                             .blocks = tensor.blocks.on_rank(layout, vocab_size),
                             .hidden = tensor.hidden.on_rank(layout, vocab_size)};
    const int64_t tensors = copies(tensor.section);
    bytes += tensors * optimizer_state_bytes(optimizer, here, moment_bytes);
    all.blocks += tensors * here.blocks;
    all.hidden += tensors * here.hidden;
  }
  if (layout.zero >= 1 && layout.dp > 1) {
    const ParameterSize shard{.elements = of_replica(layout, all.elements, 1),
                              .blocks = of_replica(layout, all.blocks, 1),
                              .hidden = of_replica(layout, all.hidden, 1)};
    bytes = optimizer_state_bytes(optimizer, shard, moment_bytes);
  }
  return bytes + optimizer_shared_bytes(optimizer);
}

int64_t StageElements::largest_neighbours() const {
  const int64_t beside = layers > 0 ? block : 0;
  int64_t most = beside + std::max(embedding, final);
  if (layers > 1) most = std::max(most, 2 * block);
  return std::max({most, embedding, final});
}

StageElements stage_elements(const ModelElements& model, const Layout& layout, int64_t stage) {
  const auto on_rank = [&](const Extent& extent) {
    return extent.on_rank(layout, model.config.vocab_size);
  };
  return {.embedding = stage == 0 ? on_rank(model.embedding) : 0,
          .block = on_rank(model.block),
          .final = stage == layout.pp - 1 ? on_rank(model.final) : 0,
          .layers = layers_of_stage(model.config.layers, layout.pp, stage)};
}

Extent BatchCost::block_kept(CheckpointKind checkpoint) const {
  Extent kept;
  for (const Extent& one : block_parts) kept += one;
  if (checkpoint == CheckpointKind::kSelective) kept = kept - part(BlockPart::kAttentionCore);
  return kept;
}

RunSpec run_spec(const ModelConfig& config, const BatchShape& shape) {
  RunSpec spec{.model_size = "custom",
               .context_length = shape.tokens,
               .batch_size = shape.sequences,
               .profile_type = Mode::kTraining,
               .precision = shape.precision,
               .weights = shape.weights,
               .attention = shape.attention,
               .optimizer_impl = OptimizerImpl::kFused,
               .device = {.kind = DeviceKind::kCuda}};
  for (const auto& [given, size] : kDimensionSettings) spec.*given = config.*size;
  for (const auto& [given, on] : kLayerSettings) spec.*given = config.*on;
  return spec;
}

BatchCost batch_cost(const ModelConfig& config, Head head, const BatchShape& shape) {
  const RunSpec spec = run_spec(config, shape);
  const std::vector<Row> rows = theory_rows(spec);
  BatchCost cost;
  for (const Row& row : rows) {
    const Extent extent = extent_of(row, config.vocab_size);
    if (row.group == kEmbedding) cost.embedding += extent;
    if (row.group == kFinalNorm) cost.head += extent;
    if (row.group == kBlock) cost.block_parts[static_cast<size_t>(part_of(spec, row))] += extent;
  }
  cost.stream.sequence = bytes_of_a_number(shape) * shape.sequences * shape.tokens * config.d_model;
  cost.core_recomputed = core_recomputed(spec, rows);
  if (head != Head::kValue) add_logits(cost, head, rows, shape, config.vocab_size);
  for (const Row& row : forward_rows(spec)) {
    const Extent extent = extent_of(row, config.vocab_size);
    if (row.group == kForwardAttention) cost.forward_softmax += extent;
    if (row.group == kForwardFeedForward) cost.forward_feed_forward += extent;
    if (row.group == kForwardHead && !has_letter(row, 'V')) cost.forward_head += extent;
  }
  if (head != Head::kValue) {
    cost.forward_head.vocabulary =
        kPerLogitInForward * bytes_of_a_number(shape) * shape.sequences * shape.tokens;
  }
  return cost;
}

}  // namespace headroom
