#include "plan/cost/model_cost.h"

#include <algorithm>

#include "profiling/theory/forward.h"

namespace headroom {
namespace {

RunSpec run_spec(const ModelConfig& config, const BatchShape& shape) {
  return {.model_size = "custom",
          .d_model = config.d_model,
          .d_ff = config.d_ff,
          .layers = config.layers,
          .heads = config.heads,
          .kv_heads = config.kv_heads,
          .vocab_size = config.vocab_size,
          .context_length = shape.tokens,
          .batch_size = shape.sequences,
          .profile_type = Mode::kTraining,
          .precision = shape.precision,
          .weights = shape.weights,
          .attention = shape.attention,
          .optimizer_impl = OptimizerImpl::kFused,
          .device = {.kind = DeviceKind::kCuda}};
}

bool has_letter(const Row& row, char letter) {
  return row.symbols.find(letter) != std::string::npos;
}

// Where a tensor of activations goes. Vocabulary-parallel loss keeps one value per token whole.
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

// Of a row of a block.
BlockPart part_of(const Row& row) {
  const bool core = has_letter(row, 'T')
                        ? !has_letter(row, 'K')
                        : row.tensor == "max_indices_BHS1" || row.tensor == "sum_BHS1";
  if (core) return BlockPart::kAttentionCore;
  return row.tensor == "output_BSD" ? BlockPart::kOutput : BlockPart::kOther;
}

// Note [The loss of a policy]
// Rationale: PPO needs the log-probability of each token and the entropy of its distribution; both
//   come from the logits of the whole vocabulary, and these are the largest tensors of a step.
// Approach: what headroom's own cross entropy keeps and makes (theory's rows of head and loss), and
//   the FP32 probabilities that the entropy keeps. When backward starts, the gradients of two of
//   them live beside what is kept: to 16 bytes per logit in all, as measured in FP32 and under
//   autocast (tests/virtual_gpu/plan_test.py).
// Limits: fused losses, which never hold the logits, need less.
constexpr int64_t kBytesPerLogitInBackward = 16;
constexpr int64_t kBytesPerLogitInForward = 12;
constexpr int64_t kEntropyBytesPerLogit = 4;

void add_logits(BatchCost& cost, Head head, const std::vector<Row>& rows, const BatchShape& shape,
                int64_t vocab_size) {
  const int64_t tokens = shape.sequences * shape.tokens;
  Extent loss;
  for (const Row& row : rows) {
    if (row.group == kHead || row.group == kLoss) loss += extent_of(row, vocab_size);
  }
  cost.head += loss;
  if (head == Head::kPolicy) cost.head.vocabulary += kEntropyBytesPerLogit * tokens;
  cost.head_backward.vocabulary = kBytesPerLogitInBackward * tokens - loss.vocabulary;
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

ModelElements model_elements(const ModelConfig& config, Head head) {
  ModelElements model{.config = config, .head = head};
  for (const Row& row : theory_rows(run_spec(config, {.sequences = 1, .tokens = 1}))) {
    if (row.group != kParameters) continue;
    const int64_t elements = row.bytes_each() / element_size(row.dtype);
    Extent extent;
    if (row.sizes.size() < 2) {
      extent.whole = elements;  // a norm
    } else if (has_letter(row, 'V')) {
      extent.vocabulary = elements / config.vocab_size;
    } else {
      extent.split = elements;
    }
    if (row.tensor.starts_with("token_embeddings")) {
      model.embedding = extent;
    } else if (row.tensor.starts_with("ln_final")) {
      model.final += extent;
    } else if (row.tensor.starts_with("lm_head")) {
      model.final += head == Head::kValue ? Extent{.whole = config.d_model} : extent;
    } else {
      model.block += extent;
    }
  }
  return model;
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

Extent BatchCost::block_kept(Checkpoint checkpoint) const {
  Extent kept;
  for (const BlockPart part : kBlockParts) {
    if (keeps(checkpoint, part)) kept += block_parts[static_cast<size_t>(part)];
  }
  return kept;
}

Extent BatchCost::block_recomputed(Checkpoint checkpoint) const {
  return block_kept() - block_kept(checkpoint);
}

BatchCost batch_cost(const ModelConfig& config, Head head, const BatchShape& shape) {
  const RunSpec spec = run_spec(config, shape);
  const std::vector<Row> rows = theory_rows(spec);
  BatchCost cost;
  for (const Row& row : rows) {
    const Extent extent = extent_of(row, config.vocab_size);
    if (row.group == kEmbedding) cost.embedding += extent;
    if (row.group == kFinalNorm) cost.head += extent;
    if (row.group == kBlock) cost.block_parts[static_cast<size_t>(part_of(row))] += extent;
  }
  if (head != Head::kValue) add_logits(cost, head, rows, shape, config.vocab_size);
  for (const Row& row : forward_rows(spec)) {
    const Extent extent = extent_of(row, config.vocab_size);
    if (row.group == kForwardAttention) cost.forward_softmax += extent;
    if (row.group == kForwardFeedForward) cost.forward_feed_forward += extent;
    if (row.group == kForwardHead && !has_letter(row, 'V')) cost.forward_head += extent;
  }
  if (head != Head::kValue) {
    cost.forward_head.vocabulary = kBytesPerLogitInForward * shape.sequences * shape.tokens;
  }
  return cost;
}

}  // namespace headroom
