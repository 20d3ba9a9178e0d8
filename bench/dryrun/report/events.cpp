#include "bench/dryrun/report/events.h"

#include <utility>

#include "text/quantity.h"

namespace headroom {

using nlohmann::ordered_json;

Events parse_events(const std::string& text) {
  if (text == "done") return Events::kDone;
  if (text == "late") return Events::kLate;
  if (text == "both") return Events::kBoth;
  throw UsageError("--events", text, "is none of done, late, both", "--events both");
}

std::string events_name(Events events) {
  if (events == Events::kBoth) return "both";
  return events == Events::kLate ? "late" : "done";
}

DryRun late_request(const DryRun& request, const DryRunOutcome& first) {
  DryRun late = request;
  late.events = Events::kLate;
  if (!request.distinct || first.kinds.empty()) return late;
  late.distinct = false;
  for (const RankKind& kind : first.kinds) late.ranks.push_back(kind.rank);
  return late;
}

void add_late_run(ordered_json& document, ordered_json late) {
  if (late["peak_may_be_wrong"].get<bool>()) document["peak_may_be_wrong"] = true;
  document["late"] = std::move(late);
}

const ordered_json* late_device(const ordered_json& document, size_t process,
                                const ordered_json& device) {
  if (!document.contains("late")) return nullptr;
  const ordered_json& before = document["processes"];
  const ordered_json& after = document["late"]["processes"];
  if (before.size() != after.size()) return nullptr;
  const auto rank = [](const ordered_json& one) { return one.value("rank", int64_t{-1}); };
  if (rank(before[process]) != rank(after[process])) return nullptr;
  for (const ordered_json& other : after[process]["devices"]) {
    if (other["ordinal"] == device["ordinal"]) return &other;
  }
  return nullptr;
}

std::string events_line(const ordered_json& document) {
  const std::string events = document["events"];
  if (events == "late") {
    return "late events: work on the card ended when the host waited for it, so blocks that other "
           "streams used were freed late\n";
  }
  if (events != "both") return "";
  if (!document.contains("late")) return "late events: not run\n";
  if (document["processes"].size() != document["late"]["processes"].size()) {
    return "late events: other processes used CUDA in that run; its own report is in --json, under "
           "late\n";
  }
  return "two figures: in the first run work on the card ended at once, in the second when the "
         "host waited for it; a real card lies between, apart from the effect of block addresses\n";
}

}  // namespace headroom
