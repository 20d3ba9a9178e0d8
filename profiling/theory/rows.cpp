#include "profiling/theory/rows.h"

#include "profiling/theory/activations/checkpoint.h"
#include "profiling/theory/activations/compiled.h"
#include "profiling/theory/activations/compressed.h"
#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/activations/layers/attention_kernel.h"
#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/host/host_update.h"
#include "profiling/theory/host/offloaded.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/parallel/moved_shapes.h"
#include "profiling/theory/row_builder.h"
#include "text/quantity.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// check_computable() refuses such settings earlier. A wrong sum must never be returned.
[[noreturn]] void refuse_overflow() {
  throw UsageError(
      "theory: these settings make a sum beyond 2^63 bytes "
      "(example: --batch-size 4 --context-length 512)");
}

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) refuse_overflow();
  return product;
}

void add_to(int64_t& sum, int64_t bytes) {
  if (__builtin_add_overflow(sum, bytes, &sum)) refuse_overflow();
}

// On the CPU, host memory is memory of the device.
void add_host_sums(const RunSpec& spec, const std::vector<Row>& rows,
                   std::map<std::string, int64_t>& sums) {
  if (follows_cpu_policy(spec)) {
    sums["master_weights"] += total(rows, kHostMasters);
    sums["optimizer_state"] += total(rows, kHostOptimizerState);
  } else {
    sums["host_pinned_bytes"] = host_pinned_bytes(rows);
    // The loss scaler's decision comes to the host through pinned memory.
    const bool decides = spec.precision == Precision::kFp16 && spec.profile_type == Mode::kTraining;
    if (decides && sums["host_pinned_bytes"] > 0) sums["host_pinned_bytes"] += sizeof(float);
    sums["host_pageable_bytes"] = host_pageable_bytes(rows, spec);
  }
  for (const char* name : {"master_weights", "host_pinned_bytes", "host_pageable_bytes"}) {
    if (sums[name] == 0) sums.erase(name);
  }
}

std::vector<Row> eager_rows(const RunSpec& spec) {
  RowBuilder activations(spec);
  add_activation_rows(activations);
  return activations.take();
}

std::vector<Row> middle_block(const RunSpec& spec, const std::vector<Row>& rows) {
  return rows_of_block(rows, model_config(spec).layers / 2);
}

}  // namespace

int64_t Row::bytes_each() const {
  int64_t product = element_size(dtype);
  for (const int64_t size : sizes) product = times(product, size);
  return product;
}

int64_t Row::all_bytes() const { return times(bytes_each(), storages); }

int64_t Row::model_bytes() const { return times(bytes, blocks.empty() ? 1 : blocks.count()); }

std::vector<Row> theory_rows(const RunSpec& spec) {
  if (const std::string why = attention_refusal(spec); !why.empty()) {
    throw UsageError("--attention", to_string(spec.attention), why, "--attention sdpa");
  }
  const bool is_compiled = spec.kernels == Kernels::kCompiled;
  std::vector<Row> rows = is_compiled ? compiled_rows(spec) : eager_rows(spec);
  if (builds_graph(spec.profile_type)) checkpoint_rows(spec, rows);
  RowBuilder states(spec);
  add_state_rows(states);
  for (Row& row : states.take()) rows.push_back(std::move(row));
  if (is_compiled) drop_casts(rows);
  compress_saved(rows, spec);
  offload_saved(rows, spec);
  return rows;
}

int64_t total(const std::vector<Row>& rows, std::string_view group) {
  int64_t bytes = 0;
  for (const Row& row : rows) {
    if (row.group == group) add_to(bytes, row.bytes);
  }
  return bytes;
}

int64_t model_total(const std::vector<Row>& rows, std::string_view group) {
  int64_t bytes = 0;
  for (const Row& row : rows) {
    if (row.group == group) add_to(bytes, row.model_bytes());
  }
  return bytes;
}

int64_t activation_bytes(const std::vector<Row>& rows) {
  int64_t bytes = 0;
  for (const char* group : {kBlock, kEmbedding, kCheckpointInputs, kFinalNorm, kHead, kLoss}) {
    add_to(bytes, model_total(rows, group));
  }
  return bytes;
}

int64_t storages(const std::vector<Row>& rows, std::string_view group) {
  int64_t count = 0;
  for (const Row& row : rows) {
    if (row.group == group) count += row.storages;
  }
  return count;
}

std::vector<Row> rows_of_block(const std::vector<Row>& rows, int64_t block) {
  std::vector<Row> kept;
  for (const Row& row : rows) {
    if (row.group == kBlock && row.blocks.contains(block)) kept.push_back(row);
  }
  return kept;
}

std::vector<Blocks> blocks_alike(const std::vector<Row>& rows, int64_t layers) {
  std::map<std::vector<bool>, size_t> kinds;  // the rows of a block -> index in `alike`
  std::vector<Blocks> alike;
  for (int64_t block = 0; block < layers; ++block) {
    std::vector<bool> has;
    for (const Row& row : rows) {
      if (row.group == kBlock) has.push_back(row.blocks.contains(block));
    }
    const auto [kind, is_new] = kinds.try_emplace(has, alike.size());
    if (is_new) alike.emplace_back();
    alike[kind->second].add(block);
  }
  return alike;
}

void drop(std::vector<Row>& rows, const Blocks& blocks,
          const std::function<bool(const Row&)>& keeps) {
  for (Row& row : rows) {
    if (row.group == kBlock && !keeps(row)) row.blocks = row.blocks.without(blocks);
  }
  std::erase_if(rows, [](const Row& row) { return row.group == kBlock && row.blocks.empty(); });
}

int64_t residual_bytes_per_block(const RunSpec& spec) {
  return total(middle_block(spec, theory_rows(spec)), kBlock);
}

int64_t residual_tensors_per_block(const RunSpec& spec) {
  return storages(middle_block(spec, theory_rows(spec)), kBlock);
}

HookTally hook_tally(const std::vector<Row>& rows, std::string_view group) {
  HookTally tally;
  for (const Row& row : rows) {
    if (row.group != group) continue;
    const auto saves = static_cast<int64_t>(row.saved_by.size());
    tally.tensors += saves;
    const int64_t kept_as = element_size(row.dtype);
    const int64_t saved_as = element_size(row.saved_as.value_or(row.dtype));
    tally.bytes += saves * (row.bytes_each() / kept_as * saved_as);
  }
  return tally;
}

std::map<std::string, int64_t> predicted(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  const std::vector<Row> block = middle_block(spec, rows);
  std::map<std::string, int64_t> sums = {
      {"parameters", total(rows, kParameters)},
      {"gradients", total(rows, kGradients)},
      {"optimizer_state", total(rows, kOptimizerState) + total(rows, kOptimizerNextState)},
      {"activations", activation_bytes(rows)},
      {"cast_cache", cast_cache_bytes(spec, rows)},
      {"residual_bytes_per_block", total(block, kBlock)},
      {"residual_tensors_per_block", storages(block, kBlock)}};
  // Two neighbouring regions' at once, of which no row tells.
  if (spec.kernels == Kernels::kCompiled && offloads_optimizer(spec)) sums.erase("gradients");
  sums["master_weights"] = total(rows, kMasterWeights);
  add_host_sums(spec, rows, sums);
  if (const int64_t bytes = total(rows, kRecomputed); bytes > 0) sums["recomputed"] = bytes;
  if (const HostTraffic traffic = host_traffic(rows, spec); traffic.any()) {
    sums["to_host_bytes"] = traffic.to_host;
    sums["to_card_bytes"] = traffic.to_card;
  }
  if (const DiskFigures disk = disk_figures(spec); disk.any()) {
    sums["disk_bytes"] = disk.files;
    if (disk.buffers > 0) sums["disk_buffers_bytes"] = disk.buffers;
    sums["from_disk_bytes"] = disk.read;
    sums["to_disk_bytes"] = disk.written;
  }
  if (spec.profile_type == Mode::kGenerate) sums["kv_cache"] = total(rows, kKvCacheRows);
  if (has_predicted_peak(spec)) sums["peak_allocated_bytes"] = predicted_peak(spec).allocated;
  return sums;
}

PredictedRank predicted_of_rank(const RunSpec& spec, int64_t rank) {
  if (!has_predicted_peak(spec)) return {};
  MovedCount moved;
  const CountingMoved counting(moved);
  const Peak peak = predicted_peak(spec, Head::kLanguage, rank);
  return {.peak_allocated = peak.allocated, .moved = moved_sums(moved.rows())};
}

}  // namespace headroom
