#include "profiling/theory/activations/checkpoint.h"

#include <algorithm>

#include "profiling/theory/row_builder.h"

namespace headroom {
namespace {

std::vector<BlockGroup> groups_of(const RunSpec& spec) {
  return block_groups(spec.checkpoint, model_config(spec).layers);
}

// Only for a softmax that is written out: fused kernels store no scores.
bool recomputes_core(const RunSpec& spec) {
  return spec.checkpoint.kind == CheckpointKind::kSelective && spec.attention == Attention::kEager;
}

bool is_block_output(const Row& row) { return row.tensor == "output_BSD"; }

// `times` the storages of a row, made again.
void add_recomputed(std::vector<Row>& added, Row row, int64_t times, const std::string& condition) {
  if (times == 0 || row.storages == 0) return;
  if (times > 1) row.derivation += ", of " + std::to_string(times) + " blocks";
  row.group = kRecomputed;
  row.blocks = {};
  row.storages *= times;
  row.bytes = row.all_bytes();
  row.condition = condition;
  added.push_back(std::move(row));
}

// Inserts behind the last row of the group.
void insert_rows(std::vector<Row>& rows, const char* group, std::vector<Row> added) {
  const auto last =
      std::find_if(rows.rbegin(), rows.rend(), [&](const Row& row) { return row.group == group; });
  rows.insert(last.base(), added.begin(), added.end());
}

// BF16 weights: nothing saves the residual stream, so a group's input is kept for its recomputation
// only. Note [The residual stream of BF16 weights]. A compiled region saves its input.
void keep_inputs(const RunSpec& spec, std::vector<Row>& rows) {
  if (spec.weights != WeightType::kBf16 || spec.kernels == Kernels::kCompiled) return;
  Blocks before;  // their outputs are inputs of groups
  bool keeps_embedding = false;
  for (const BlockGroup& group : groups_of(spec)) {
    if (!group.recomputed) continue;
    if (group.first > 0) before.add(group.first - 1);
    keeps_embedding = keeps_embedding || group.first == 0;
  }
  RowInput input{.name = "output",
                 .shape = "B S D",
                 .dtype = DType::kBf16,
                 .source = "train/techniques/checkpoint/checkpoint.cpp: the inputs of a group",
                 .condition = "the next group of blocks is computed again from it"};
  RowBuilder sheet(spec);
  if (!before.empty()) {
    sheet.begin(kBlock, before);
    sheet.add(input);
    insert_rows(rows, kBlock, sheet.take());
  }
  if (keeps_embedding) {
    input.name = "embedded";
    sheet.begin(kEmbedding);
    sheet.add(input);
    insert_rows(rows, kEmbedding, sheet.take());
  }
}

void recompute_blocks(const RunSpec& spec, std::vector<Row>& rows, std::vector<Row>& added) {
  const int64_t most = recomputed_at_once(spec);
  if (most == 0) return;
  for (const Row& row : rows) {
    if (row.group != kBlock) continue;
    add_recomputed(added, row, is_block_output(row) ? most - 1 : most,
                   "computed again in backward, one group at a time");
  }
  for (const BlockGroup& group : groups_of(spec)) {
    if (!group.recomputed) continue;
    Blocks last;
    last.add(group.end - 1);
    Blocks others;
    for (int64_t block = group.first; block < group.end - 1; ++block) others.add(block);
    drop(rows, last, is_block_output);
    drop(rows, others, [](const Row&) { return false; });
  }
  keep_inputs(spec, rows);
}

// v is kept as the projection made it, unless its heads were repeated. The product needs heads and
// batch as one dimension, a copy unless one of them, or the context, is 1.
bool merges_v(const Row& row, const ModelConfig& config) {
  return row.tensor == "v_BHTK" && config.kv_heads == config.heads && row.sizes[0] > 1 &&
         row.sizes[1] > 1 && row.sizes[2] > 1;
}

// The checkpoint keeps the inputs of the core, not the nodes in it.
bool is_input_of_core(const Row& row) {
  return row.tensor == "q_BHSK" || row.tensor == "k_BHTK" || row.tensor == "v_BHTK";
}

void recompute_core(const RunSpec& spec, std::vector<Row>& rows, std::vector<Row>& added) {
  const std::string condition = "computed again in backward, one block at a time";
  const ModelConfig config = model_config(spec);
  for (const Row& row : rows) {
    if (row.group != kBlock) continue;
    const bool is_v = merges_v(row, config);
    if (is_v || part_of(spec, row) == BlockPart::kAttentionCore) {
      add_recomputed(added, row, 1,
                     is_v ? "merged again: heads and batch one dimension" : condition);
    }
  }
  for (Row& row : rows) {
    if (row.group == kBlock && is_input_of_core(row)) row.saved_by.clear();
  }
  drop(rows, Blocks::all(config.layers),
       [&](const Row& row) { return part_of(spec, row) != BlockPart::kAttentionCore; });
}

}  // namespace

BlockPart part_of(const RunSpec& spec, const Row& row) {
  const auto has = [&](char letter) { return row.symbols.find(letter) != std::string::npos; };
  const bool is_core =
      has('T') ? !has('K') : row.tensor == "max_indices_BHS1" || row.tensor == "sum_BHS1";
  if (is_core && spec.attention == Attention::kEager) return BlockPart::kAttentionCore;
  return is_block_output(row) ? BlockPart::kOutput : BlockPart::kOther;
}

void checkpoint_rows(const RunSpec& spec, std::vector<Row>& rows) {
  std::vector<Row> added;
  if (recomputes_core(spec)) {
    recompute_core(spec, rows, added);
  } else {
    recompute_blocks(spec, rows, added);
  }
  if (has_backward(spec.profile_type)) rows.insert(rows.end(), added.begin(), added.end());
}

Blocks recomputed_blocks(const RunSpec& spec) {
  Blocks blocks;
  for (const BlockGroup& group : groups_of(spec)) {
    for (int64_t block = group.first; group.recomputed && block < group.end; ++block) {
      blocks.add(block);
    }
  }
  return blocks;
}

int64_t recomputed_at_once(const RunSpec& spec) {
  int64_t most = 0;
  for (const BlockGroup& group : groups_of(spec)) {
    if (group.recomputed) most = std::max(most, group.count());
  }
  return most;
}

bool casts_are_their_nodes(const RunSpec& spec) {
  return follows_cpu_policy(spec) || spec.param_offload.any();
}

int64_t cast_cache_bytes(const RunSpec& spec, const std::vector<Row>& rows) {
  const int64_t kept = std::max(total(rows, kCastCache), total(rows, kPassingCast));
  const int64_t at_once = recomputed_at_once(spec);
  if (!casts_are_their_nodes(spec) || at_once == 0 || !uses_autocast(spec.precision)) return kept;
  int64_t block = 0;    // casts of one
  int64_t largest = 0;  // of its casts
  for (const Row& row : rows) {
    if (row.group != kRecomputedCast) continue;
    block += row.bytes_each();
    largest = std::max(largest, row.bytes_each());
  }
  int64_t fullest = kept;
  int64_t before = 0;  // blocks that keep theirs
  for (const BlockGroup& group : groups_of(spec)) {
    if (!group.recomputed) {
      before += group.count();
      continue;
    }
    const int64_t of_one = follows_cpu_policy(spec) ? largest : block;
    const int64_t again = has_backward(spec.profile_type) ? group.count() * block : of_one;
    fullest = std::max(fullest, before * block + again);
  }
  return fullest;
}

}  // namespace headroom
