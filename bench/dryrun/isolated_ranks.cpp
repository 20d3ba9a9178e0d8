#include "bench/dryrun/isolated_ranks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace headroom {
namespace {

using nlohmann::json;

void add(DryRunOutcome& all, DryRunOutcome one) {
  if (all.exit_code == 0 && all.signal == 0) {
    all.exit_code = one.exit_code;
    all.signal = one.signal;
  }
  all.seconds += one.seconds;
  all.host_kills += one.host_kills;
  std::move(one.reports.begin(), one.reports.end(), std::back_inserter(all.reports));
  std::move(one.unreported.begin(), one.unreported.end(), std::back_inserter(all.unreported));
  if (all.lost_reports.empty()) all.lost_reports = std::move(one.lost_reports);
  all.asked_by = one.asked_by;
}

json parsed(const std::string& text) { return json::parse(text, nullptr, false); }

// The rank's memory peaks and NCCL calls. Not its launches: a rank that prints has more of them.
RankPrint print_of(const DryRunOutcome& outcome) {
  json print = {outcome.exit_code, outcome.signal};
  for (const ProcessReport& report : outcome.reports) {
    const json stand_in = parsed(report.stand_in);
    const json allocator = parsed(report.allocator);
    if (stand_in.is_object()) {
      for (const json& communicator : stand_in.value("communicators", json::array())) {
        print.push_back({communicator.value("size", 0), communicator.value("collectives", json())});
      }
    }
    if (!allocator.is_object()) continue;
    for (const json& device : allocator.value("devices", json::array())) {
      if (device.value("peak_reserved_bytes", int64_t{0}) == 0) continue;
      for (const char* key :
           {"peak_allocated_bytes", "peak_reserved_bytes", "peak_requested_bytes"}) {
        print.push_back(device.value(key, int64_t{0}));
      }
    }
  }
  return print.dump();
}

std::vector<RankList> groups_of(const DryRunOutcome& outcome) {
  std::vector<RankList> groups;
  for (const ProcessReport& report : outcome.reports) {
    const json allocator = parsed(report.allocator);
    if (!allocator.is_object()) continue;
    for (const json& group : allocator.value("groups", json::array())) {
      if (!group.empty()) groups.push_back(group.get<RankList>());
    }
  }
  return groups;
}

}  // namespace

DryRunOutcome run_ranks(const std::vector<int64_t>& ranks, const RunRank& run) {
  DryRunOutcome all{.exit_code = 0};
  for (const int64_t rank : ranks) {
    add(all, run(rank));
    if (all.asked_by != 0) break;
  }
  return all;
}

DryRunOutcome run_distinct(int64_t world_size, const RunRank& run) {
  std::map<int64_t, DryRunOutcome> outcomes;
  double seconds = 0;
  bool is_interrupted = false;
  const auto print = [&](int64_t rank) {
    if (is_interrupted) return RankPrint();
    const auto [place, is_new] = outcomes.try_emplace(rank);
    if (is_new) {
      place->second = run(rank);
      seconds += place->second.seconds;
      is_interrupted = place->second.asked_by != 0;
    }
    return print_of(place->second);
  };
  print(0);
  const DryRunOutcome& first = outcomes[0];
  std::vector<RankKind> kinds;
  if (first.exit_code == 0) kinds = distinct_ranks(groups_of(first), world_size, print);
  if (is_interrupted) kinds.clear();
  DryRunOutcome all{.exit_code = 0};
  for (auto& [rank, outcome] : outcomes) {
    const bool stands_for_others =
        std::any_of(kinds.begin(), kinds.end(),
                    [rank = rank](const RankKind& kind) { return kind.rank == rank; });
    if (stands_for_others || kinds.empty()) add(all, std::move(outcome));
  }
  all.seconds = seconds;
  all.kinds = std::move(kinds);
  return all;
}

}  // namespace headroom
