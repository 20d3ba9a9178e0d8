#include "profiling/theory/peak.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "cards/cards.h"
#include "cards/cublas_workspace.h"
#include "profiling/theory/compute_capability.h"
#include "profiling/theory/rehearsal/allocator/expandable_segments.h"
#include "profiling/theory/rehearsal/step.h"
#include "text/words.h"

namespace headroom {
namespace {

std::vector<Row> rows_of(const std::vector<Allocation>& alive) {
  using Key = std::tuple<std::string, std::string, int64_t>;
  std::map<Key, Row> rows;
  for (const Allocation& made : alive) {
    const std::string place = std::string(made.site.phase) + ": " + made.site.operation;
    Row& row = rows[{made.group, place, -made.bytes}];
    row.group = made.group;
    row.source = place;
    row.storages = row.bytes == 0 ? 1 : row.storages + 1;
    row.bytes += made.bytes;
  }
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
  return sorted;
}

// Runs steps. Once they repeat each other, it replays their requests only.
class Steps {
 public:
  Steps(Run& run, const RunSpec& spec, Head head, int64_t rank)
      : run_(run), step_(run, spec, head, "", rank) {}

  void go(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (steady_) {
        run_.memory.repeat_step();
        continue;
      }
      run_.memory.begin_step();
      step_.run();
      steady_ = run_.memory.is_steady();
    }
  }

 private:
  Run& run_;
  RehearsedStep step_;
  bool steady_ = false;
};

// The warm-up steps, then the measured ones.
void rehearse(Run& run, const RunSpec& spec, Head head, int64_t rank) {
  constexpr int64_t kMostSteps = 16;  // the allocator's state changes less and less
  Steps steps(run, spec, head, rank);
  steps.go(std::min(spec.warmup_steps, kMostSteps));
  run.memory.release_cached();
  run.memory.begin_peak();
  steps.go(std::min(spec.measure_steps > 0 ? spec.measure_steps : spec.record_steps, kMostSteps));
}

// bytes: the limit of the run.
std::unique_ptr<AllocatorRules> allocator_of(const RunSpec& spec, int64_t bytes) {
  if (spec.alloc_conf != kExpandableSegments) return std::make_unique<AllocatorRules>();
  const int64_t context = is_virtual(spec) ? find_card(spec.device.card).context_bytes : 0;
  return std::make_unique<ExpandableSegmentRules>(bytes + context);
}

// In a lower precision, cards with less than 128 KiB of shared memory per thread block use another
// memory-efficient kernel for heads of 65 to 128 elements. It is not rehearsed.
bool follows_attention(const RunSpec& spec) {
  constexpr int64_t kOfTheLargest = 128 << 10;
  const RowBuilder sheet(spec);
  if (spec.attention == Attention::kEager || sheet.compute() == DType::kFp32) return true;
  if (sheet.attention_kernel() != AttentionKernel::kMemoryEfficient || !is_virtual(spec))
    return true;
  const int64_t head = sheet.config().head_dim();
  const Card& card = find_card(spec.device.card);
  return head <= 64 || head > 128 || card.limits.shared_memory_per_block_optin >= kOfTheLargest;
}

// The settings that the rehearsal follows. Any other setting of a tensor's size or presence must
// be at its default: better no peak than the peak of another step.
const std::vector<std::string>& followed_settings() {
  static const std::vector<std::string> kFollowed = {"model_size",
                                                     "d_model",
                                                     "d_ff",
                                                     "layers",
                                                     "heads",
                                                     "kv_heads",
                                                     "vocab_size",
                                                     "context_length",
                                                     "batch_size",
                                                     "profile_type",
                                                     "micro_batches",
                                                     "precision",
                                                     "attention",
                                                     "optimizer",
                                                     "optimizer_impl",
                                                     "weights",
                                                     "master_weights",
                                                     "rounding",
                                                     "max_grad_norm",
                                                     "release_gradients",
                                                     "checkpoint",
                                                     "activations",
                                                     "device",
                                                     "optimizer_offload",
                                                     "param_offload",
                                                     "mesh",
                                                     "zero",
                                                     "reshard_after_forward",
                                                     "shard_group",
                                                     "prefetch",
                                                     "bucket_bytes",
                                                     "schedule",
                                                     "sequence_parallel"};
  return kFollowed;
}

}  // namespace

std::vector<std::string> flags_not_followed(const RunSpec& spec) {
  constexpr int64_t kMostLayers = 1024;  // rehearsed one by one
  static const RunSpec kDefaults;
  std::vector<std::string> flags;
  for (const Field& field : fields()) {
    const bool followed = !field.sizes || is_one_of(field.name, followed_settings());
    const bool is_generations = field.group == FieldGroup::kGeneration;
    if (!followed && !is_generations && field.get(spec) != field.get(kDefaults)) {
      flags.push_back(field.flag());
    }
  }
  if (!info_of(spec.optimizer).is_rehearsed) flags.emplace_back("--optimizer");
  if (follows_cpu_policy(spec)) flags.emplace_back("--device");
  if (!spec.alloc_conf.empty()) flags.emplace_back("--alloc-conf");
  if (!follows_attention(spec)) flags.emplace_back("--attention");
  if (model_config(spec).layers > kMostLayers) flags.emplace_back("--layers");
  return flags;
}

bool has_predicted_peak(const RunSpec& spec) {
  return spec.profile_type != Mode::kGenerate && flags_not_followed(spec).empty();
}

Peak predicted_peak(const RunSpec& spec, Head head, int64_t rank) {
  Run run(cublas_workspace_bytes(compute_capability(spec)));
  rehearse(run, spec, head, rank);
  Peak peak;
  peak.allocated = run.memory.peak();
  peak.where = run.memory.peak_in_words();
  peak.rows = rows_of(run.memory.alive_at_peak());
  for (const Row& row : peak.rows) peak.requested += row.bytes;
  Row& rounding = peak.rows.emplace_back();
  rounding.group = kAllocatorRounding;
  rounding.storages = 0;
  rounding.bytes = peak.allocated - peak.requested;
  return peak;
}

bool rehearsed_to_fit(const RunSpec& spec, int64_t bytes, int64_t rank) {
  Run run(cublas_workspace_bytes(compute_capability(spec)), allocator_of(spec, bytes));
  run.memory.limit(bytes);
  try {
    rehearse(run, spec, Head::kLanguage, rank);
  } catch (const CardIsFull&) {
    return false;
  }
  return true;
}

}  // namespace headroom
