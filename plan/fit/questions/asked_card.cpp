#include "plan/fit/questions/asked_card.h"

#include <algorithm>
#include <limits>

#include "plan/cost/fullest_ranks.h"
#include "plan/fit/questions/fit_oracle.h"

namespace headroom {
namespace {

constexpr const char* kUnlimited = "unlimited";
constexpr int64_t kUnknownNeed = std::numeric_limits<int64_t>::max();

// The first step makes the optimizer's states; the second has them. Later steps need no more.
RunSpec brief(RunSpec spec) {
  spec.warmup_steps = std::min<int64_t>(spec.warmup_steps, 1);
  spec.measure_steps = 1;
  return spec;
}

std::string key_of(const RunSpec& spec, int64_t rank) {
  return std::to_string(rank) + " " + to_json(spec).dump();
}

bool is_one_of_many_layers(const RunSpec& spec, int64_t few) {
  return spec.mesh.ranks() == 1 && model_config(spec).layers > 2 * few;
}

}  // namespace

AskedCard::AskedCard(const CellOptions& options) : options_(options) { options_.on_talk = {}; }

AskedCard::Answer AskedCard::ask(const RunSpec& spec, int64_t rank) {
  if (const std::optional<Answer> known = find(spec, rank)) return *known;
  CellOptions options = options_;
  if (spec.mesh.ranks() > 1) options.ranks = {.kind = RankChoice::Kind::kListed, .ranks = {rank}};
  if (spec.device.bytes == kUnlimited) options.virtual_host_memory_bytes = 0;
  const Record record = run_cell(spec, options);
  Answer answer{.fits = verdict_of(record, options.virtual_host_memory_bytes > 0).fits != Fits::kNo,
                .peak = std::nullopt};
  if (record.status == Status::kOk) answer.peak = record.peak;
  const std::lock_guard lock(mutex_);
  return answers_.emplace(key_of(spec, rank), answer).first->second;
}

bool AskedCard::fits(const RunSpec& spec) {
  const std::vector<int64_t> ranks = first_ranks_of_stages(spec);
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](int64_t rank) { return ask(spec, rank).fits; });
}

std::optional<AskedCard::Answer> AskedCard::find(const RunSpec& spec, int64_t rank) {
  const std::lock_guard lock(mutex_);
  const auto known = answers_.find(key_of(spec, rank));
  if (known == answers_.end()) return std::nullopt;
  return known->second;
}

std::optional<MemoryBytes> AskedCard::peak_with_room(RunSpec spec, int64_t rank) {
  const std::optional<Answer> known = find(spec, rank);
  if (known && known->peak) return known->peak;
  spec.device.bytes = kUnlimited;
  return ask(spec, rank).peak;
}

int64_t AskedCard::need(const RunSpec& spec) {
  int64_t most = 0;
  for (const int64_t rank : first_ranks_of_stages(spec)) {
    const std::optional<MemoryBytes> peak = peak_with_room(spec, rank);
    if (!peak) return kUnknownNeed;
    most = std::max(most, peak->allocated + nccl_bytes_of(spec, rank));
  }
  return most;
}

int64_t AskedCard::least(const RunSpec& spec) {
  const int64_t few = 2 + spec.prefetch;
  if (!is_one_of_many_layers(spec, few)) return 0;
  RunSpec small = brief(spec);
  small.alloc_conf.clear();  // it changes blocks, not requested bytes
  small.layers = few;
  const std::optional<MemoryBytes> first = peak_with_room(small, 0);
  small.layers = few + 1;
  const std::optional<MemoryBytes> second = peak_with_room(small, 0);
  if (!first || !second) return 0;
  const int64_t more = model_config(spec).layers - small.layers;
  return second->requested + more * (second->requested - first->requested);
}

}  // namespace headroom
