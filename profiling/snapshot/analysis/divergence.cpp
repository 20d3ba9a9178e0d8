#include "profiling/snapshot/analysis/divergence.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "profiling/snapshot/analysis/alignment.h"
#include "profiling/snapshot/analysis/code_line.h"
#include "profiling/snapshot/analysis/phase_times.h"
#include "text/hash.h"

namespace headroom {
namespace {

// The sameness of two allocations: a changed program has moved lines, a larger batch other sizes.
enum class Sameness { kLineAndSize, kFunctionAndSize, kFunction };
constexpr double kEnoughMatch = 0.5;  // with fewer the next kind is tried

// One device of a snapshot, replayed up to a moment.
class Replayed {
 public:
  Replayed(const Snapshot& snapshot, const DevicePeak& peak)
      : snapshot_(snapshot),
        trace_(snapshot.device_traces[static_cast<size_t>(peak.device)]),
        live_(live_before(snapshot, static_cast<size_t>(peak.device))),
        bytes_(bytes_of(live_)) {
    for (size_t i = 0; i < trace_.size(); ++i) {
      if (trace_[i].action == TraceAction::kAlloc) allocs_.push_back(static_cast<int64_t>(i));
    }
  }

  // One for each alloc; equal code in both snapshots gives equal tokens.
  std::vector<uint64_t> tokens(Sameness kind) const {
    std::unordered_map<int32_t, uint64_t> of_stack;
    std::vector<uint64_t> tokens;
    for (const int64_t alloc : allocs_) {
      const TraceEvent& event = trace_[static_cast<size_t>(alloc)];
      const auto [known, is_new] = of_stack.try_emplace(event.stack, 1);
      if (is_new) {
        const std::string line = code_line(snapshot_, event.stack);
        mix(known->second, kind == Sameness::kLineAndSize ? line : without_line_numbers(line));
      }
      uint64_t token = known->second;
      if (kind != Sameness::kFunction) mix(token, static_cast<uint64_t>(event.size));
      tokens.push_back(token);
    }
    return tokens;
  }

  // To the moment after the alloc of that number; -1 = before the first event. If that is the
  // moment before too, the other side alone went on: then the frees before the next alloc are due.
  void move_to(int64_t alloc) {
    if (alloc == alloc_) {
      const auto next = static_cast<size_t>(alloc + 1);
      apply_until((next < allocs_.size() ? allocs_[next] : std::ssize(trace_)) - 1);
    } else {
      apply_until(allocs_[static_cast<size_t>(alloc)]);
    }
    alloc_ = alloc;
  }

  int64_t bytes() const { return bytes_; }
  int64_t event() const { return event_; }
  int64_t allocs() const { return std::ssize(allocs_); }
  const TracedBlocks& live() const { return live_; }
  const Snapshot& snapshot() const { return snapshot_; }
  int64_t time_us() const { return event_ < 0 ? -1 : trace_[static_cast<size_t>(event_)].time_us; }

 private:
  void apply_until(int64_t event) {
    while (event_ < event) bytes_ += apply(trace_[static_cast<size_t>(++event_)], live_);
  }

  const Snapshot& snapshot_;
  const std::vector<TraceEvent>& trace_;
  TracedBlocks live_;
  int64_t bytes_;
  int64_t event_ = -1;  // the last one applied
  int64_t alloc_ = -1;
  std::vector<int64_t> allocs_;  // indices of events
};

Moments moments_of(const Replayed& a, const Replayed& b) {
  for (const Sameness kind : {Sameness::kLineAndSize, Sameness::kFunctionAndSize}) {
    const auto tokens_a = a.tokens(kind);
    const auto tokens_b = b.tokens(kind);
    Moments moments = align(tokens_a, tokens_b);
    if (matched_share(moments, tokens_a, tokens_b) >= kEnoughMatch) return moments;
  }
  return align(a.tokens(Sameness::kFunction), b.tokens(Sameness::kFunction));
}

// The number of the moment whose live bytes differ most; of the fullest one of A if they never
// differ.
size_t largest_divergence(Replayed a, Replayed b, const Moments& moments) {
  size_t largest = 0;
  std::pair<int64_t, int64_t> most = {std::abs(b.bytes() - a.bytes()), a.bytes()};
  for (size_t moment = 1; moment < moments.size(); ++moment) {
    a.move_to(moments[moment].first);
    b.move_to(moments[moment].second);
    const std::pair now = {std::abs(b.bytes() - a.bytes()), a.bytes()};
    const bool is_fuller = now.first == 0 && most.first == 0 && now.second > most.second;
    if (now.first <= most.first && !is_fuller) continue;
    most = now;
    largest = moment;
  }
  return largest;
}

using Lines = std::map<std::pair<std::string, std::string>, LineDifference>;  // by line, purpose

void add_lines(const Replayed& replayed, ShownFrames frames, bool is_b, Lines& lines) {
  std::unordered_map<int32_t, std::string> of_stack;
  for (const auto& [address, block] : replayed.live()) {
    const auto [known, is_new] = of_stack.try_emplace(block.stack);
    if (is_new) {
      known->second = frames == ShownFrames::kAll ? whole_stack(replayed.snapshot(), block.stack)
                                                  : code_line(replayed.snapshot(), block.stack);
    }
    std::string line = known->second;
    if (line.empty() && block.before_recording) line = "(allocated before the recording)";
    const std::string purpose = purpose_of(replayed.snapshot(), block.label, block.stack);
    LineDifference& row = lines[{line, purpose}];
    row.line = line;
    row.purpose = purpose;
    (is_b ? row.bytes_b : row.bytes_a) += block.size;
    ++(is_b ? row.count_b : row.count_a);
  }
}

// One line of A and one of B that are alike but for their numbers become one row of both.
void join_moved_lines(std::vector<LineDifference>& rows) {
  std::map<std::pair<std::string, std::string>, std::pair<std::vector<size_t>, std::vector<size_t>>>
      alike;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto& [only_a, only_b] = alike[{without_line_numbers(rows[i].line), rows[i].purpose}];
    if (rows[i].count_b == 0) only_a.push_back(i);
    if (rows[i].count_a == 0) only_b.push_back(i);
  }
  for (const auto& [key, indices] : alike) {
    if (indices.first.size() != 1 || indices.second.size() != 1) continue;
    LineDifference& one = rows[indices.first.front()];
    LineDifference& other = rows[indices.second.front()];
    one.line += " (in B: " + other.line + ")";
    one.bytes_b = std::exchange(other.bytes_b, 0);
    one.count_b = std::exchange(other.count_b, 0);
  }
}

std::vector<LineDifference> differing_lines(const Replayed& a, const Replayed& b,
                                            ShownFrames frames) {
  Lines lines;
  add_lines(a, frames, false, lines);
  add_lines(b, frames, true, lines);
  std::vector<LineDifference> rows;
  const auto is_equal = [](const LineDifference& row) {
    return row.bytes_a == row.bytes_b && row.count_a == row.count_b;
  };
  for (const auto& [key, row] : lines) {
    if (!is_equal(row)) rows.push_back(row);
  }
  join_moved_lines(rows);
  std::erase_if(rows, is_equal);
  // Equal changes by name, so that their order is the same after an edit of the program.
  const auto order = [](const LineDifference& row) {
    return std::pair(-std::abs(row.change()), without_line_numbers(row.line));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& one, const auto& other) { return order(one) < order(other); });
  return rows;
}

std::vector<SettingDifference> differing_allocator_settings(const AllocatorSettings& a,
                                                            const AllocatorSettings& b) {
  std::vector<SettingDifference> differing;
  const auto add = [&](const char* name, auto AllocatorSettings::*member) {
    const nlohmann::json one = a.*member;
    const nlohmann::json other = b.*member;
    if (one != other) differing.push_back({name, one.dump(), other.dump()});
  };
  add("PYTORCH_CUDA_ALLOC_CONF", &AllocatorSettings::alloc_conf);
  add("max_split_size", &AllocatorSettings::max_split_size);
  add("garbage_collection_threshold", &AllocatorSettings::garbage_collection_threshold);
  add("expandable_segments", &AllocatorSettings::expandable_segments);
  add("pinned_num_register_threads", &AllocatorSettings::pinned_num_register_threads);
  add("release_lock_on_cudamalloc", &AllocatorSettings::release_lock_on_cudamalloc);
  add("pinned_use_cuda_host_register", &AllocatorSettings::pinned_use_cuda_host_register);
  add("graph_capture_record_stream_reuse", &AllocatorSettings::graph_capture_record_stream_reuse);
  add("roundup_power2_divisions", &AllocatorSettings::roundup_power2_divisions);
  return differing;
}

SideOfMoment side_of(const Replayed& replayed, const DevicePeak& peak) {
  const PhaseTimes phases(replayed.snapshot().annotations, peak.device);
  return {.device = peak.device,
          .peak_bytes = peak.bytes,
          .event = replayed.event(),
          .bytes = replayed.bytes(),
          .phase = replayed.event() < 0 ? "" : phases.at(replayed.time_us())};
}

}  // namespace

SnapshotDivergence compare_snapshots(const Snapshot& a, const Snapshot& b, ShownFrames frames) {
  SnapshotDivergence divergence{.diff = diff_snapshots(a, b),
                                .settings = differing_allocator_settings(a.settings, b.settings)};
  if (a.device_traces.empty() || b.device_traces.empty()) return divergence;
  const DevicePeak peak_a = fullest_device(a);
  const DevicePeak peak_b = fullest_device(b);
  if (peak_a.bytes == 0 && peak_b.bytes == 0) return divergence;
  Replayed replayed_a(a, peak_a);
  Replayed replayed_b(b, peak_b);
  const Moments moments = moments_of(replayed_a, replayed_b);
  const size_t largest = largest_divergence(replayed_a, replayed_b, moments);
  for (size_t moment = 1; moment <= largest; ++moment) {
    replayed_a.move_to(moments[moment].first);
    replayed_b.move_to(moments[moment].second);
  }
  divergence.a = side_of(replayed_a, peak_a);
  divergence.b = side_of(replayed_b, peak_b);
  divergence.a.tail = replayed_a.allocs() - 1 - moments.back().first;
  divergence.b.tail = replayed_b.allocs() - 1 - moments.back().second;
  divergence.lines = differing_lines(replayed_a, replayed_b, frames);
  return divergence;
}

}  // namespace headroom
