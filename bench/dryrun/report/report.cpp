#include "bench/dryrun/report/report.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "bench/dryrun/report/events.h"
#include "bench/dryrun/report/frames.h"
#include "bench/dryrun/report/host_reads.h"
#include "files/atomic_file.h"

namespace headroom {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Each is an object; empty if the process left no such report.
struct ParsedReport {
  json stand_in;
  json allocator;
  int64_t pid = 0;
};

json object_of(const std::string& text) {
  json report = json::parse(text, nullptr, false);
  return report.is_object() && report.contains("pid") ? report : json::object();
}

std::vector<ParsedReport> by_process(const std::vector<ProcessReport>& reports) {
  std::vector<ParsedReport> processes;
  for (const ProcessReport& report : reports) {
    ParsedReport parsed{.stand_in = object_of(report.stand_in),
                        .allocator = object_of(report.allocator)};
    const json& known = parsed.stand_in.empty() ? parsed.allocator : parsed.stand_in;
    if (known.empty()) continue;
    parsed.pid = known["pid"].get<int64_t>();
    processes.push_back(std::move(parsed));
  }
  std::stable_sort(processes.begin(), processes.end(),
                   [](const ParsedReport& a, const ParsedReport& b) { return a.pid < b.pid; });
  return processes;
}

// Listing the cards does not count as use.
bool is_used(const json& device) {
  constexpr std::array kSigns = {"launches",       "allocations",     "refused_allocations",
                                 "graph_launches", "bytes_to_device", "peak_reserved_bytes"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](const char* sign) { return device.value(sign, int64_t{0}) > 0; });
}

// The refusals on this device noted by the Python hook, otherwise the stack of the last one.
ordered_json out_of_memory(const json& device, const ParsedReport& parsed) {
  ordered_json places = ordered_json::array();
  const int64_t ordinal = device.value("ordinal", int64_t{0});
  for (const json& refused : parsed.allocator.value("refused", json::array())) {
    if (refused.value("device", int64_t{0}) == ordinal) places.push_back(ordered_json(refused));
  }
  if (!places.empty() || device.value("refused_allocations", int64_t{0}) == 0) return places;
  places.push_back({{"device", ordinal},
                    {"wanted_bytes", device.value("largest_refused_bytes", int64_t{0})},
                    {"where", own_frame(device.value("refused_at", json::array()))}});
  return places;
}

// The stand-in's counts of a device or, without them, only the allocator's ordinal.
ordered_json device_document(const json& device, const ParsedReport& parsed) {
  ordered_json out =
      parsed.stand_in.empty() ? json{{"ordinal", device.value("ordinal", 0)}} : device;
  out.erase("refused_at");
  out["allocator"] = nullptr;
  for (const json& known : parsed.allocator.value("devices", json::array())) {
    if (known.value("ordinal", -1) == device.value("ordinal", -2)) out["allocator"] = known;
  }
  const bool failed =
      out["allocator"].is_null() || out["allocator"].value("out_of_memory", int64_t{0}) > 0;
  out["out_of_memory"] = failed ? out_of_memory(device, parsed) : ordered_json::array();
  return out;
}

ordered_json process_document(const ParsedReport& parsed) {
  ordered_json process = {
      {"pid", parsed.pid},
      {"command", parsed.stand_in.value("command", "")},
      {"torch", parsed.allocator.value("torch", "")},
      {"statistics_readable", parsed.allocator.value("readable", true)},
      {"uncaught", parsed.allocator.value("uncaught", "")},
      {"snapshot", parsed.allocator.value("snapshot", "")},
      {"snapshot_until", parsed.allocator.value("snapshot_until", "")},
      {"snapshot_error", parsed.allocator.value("snapshot_error", "")},
      {"skipped_host_init_bytes", parsed.allocator.value("skipped_host_init_bytes", int64_t{0})}};
  process["ended_by_signal"] = parsed.stand_in.value("ended_by_signal", 0);
  process["lacks"] = parsed.allocator.value("lacks", json::array());
  process["host_reads"] = host_reads_document(parsed.stand_in, parsed.allocator);
  for (const char* field : {"small_host_reads", "peak_pinned_bytes", "not_supported", "assumed",
                            "rank", "world_size", "communicators"}) {
    if (parsed.stand_in.contains(field)) process[field] = parsed.stand_in[field];
  }
  process["devices"] = ordered_json::array();
  const json& teller = parsed.stand_in.empty() ? parsed.allocator : parsed.stand_in;
  for (const json& device : teller.value("devices", json::array())) {
    if (is_used(device)) process["devices"].push_back(device_document(device, parsed));
  }
  return process;
}

// Ranks by number, after processes that are not ranks.
void sort_by_rank(ordered_json& processes) {
  const auto rank = [](const ordered_json& process) { return process.value("rank", int64_t{-1}); };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const ordered_json& a, const ordered_json& b) { return rank(a) < rank(b); });
}

// The number of reads of each --value, by all processes.
ordered_json values_document(const DryRun& request, const DryRunOutcome& outcome) {
  ordered_json values = ordered_json::array();
  for (const Value& value : request.values) values.push_back({{"text", value.text}, {"reads", 0}});
  for (const ProcessReport& report : outcome.reports) {
    const json known = object_of(report.allocator).value("values", json::array());
    for (size_t i = 0; i < std::min(known.size(), values.size()); ++i) {
      values[i]["reads"] = values[i]["reads"].get<int64_t>() + known[i].value("reads", int64_t{0});
    }
  }
  return values;
}

// The selections of experts that --route answered, by all processes.
int64_t selections_in(const DryRunOutcome& outcome) {
  int64_t selections = 0;
  for (const ProcessReport& report : outcome.reports) {
    selections += object_of(report.allocator).value("selections", int64_t{0});
  }
  return selections;
}

}  // namespace

ordered_json dryrun_document(const DryRun& request, const DryRunOutcome& outcome) {
  const VirtualCard& card = request.card;
  ordered_json document = {
      {"schema_version", 1},
      {"program", request.words},
      {"card", card.card.name},
      {"count", request.count},
      {"world_size", request.world_size},
      {"ranks", request.ranks},
      {"total_bytes", card.unlimited ? card.real_bytes : card.card.total_bytes},
      {"is_unlimited", card.unlimited},
      {"context_bytes", card.card.context_bytes},
      {"alloc_conf", request.alloc_conf},
      {"skip_host_init", request.skip_host_init},
      {"events", events_name(request.events)},
      {"route", request.route},
      {"selections", selections_in(outcome)},
      {"exit_code", outcome.exit_code},
      {"signal", outcome.signal},
      {"seconds", outcome.seconds},
      {"host_kills", outcome.host_kills},
      {"lost_reports", outcome.lost_reports},
      {"peak_may_be_wrong", false},
      {"processes", ordered_json::array()}};
  for (const ParsedReport& parsed : by_process(outcome.reports)) {
    ordered_json process = process_document(parsed);
    if (process["devices"].empty()) continue;
    if (may_be_steered(process["host_reads"])) document["peak_may_be_wrong"] = true;
    document["processes"].push_back(std::move(process));
  }
  sort_by_rank(document["processes"]);
  document["values"] = values_document(request, outcome);
  document["kinds"] = ordered_json::array();
  for (const RankKind& kind : outcome.kinds) {
    document["kinds"].push_back(
        {{"rank", kind.rank}, {"ranks", rank_list(kind.ranks)}, {"count", kind.ranks.size()}});
    document["ranks"].push_back(kind.rank);
  }
  document["unreported"] = ordered_json::array();
  for (const Unreported& process : outcome.unreported) {
    ordered_json& row = document["unreported"].emplace_back();
    row = {{"pid", process.pid}, {"is_running", process.is_running}};
    if (process.rank >= 0) row["rank"] = process.rank;
  }
  return document;
}

DevicePeaks peaks_of(const ordered_json& document, const ordered_json& device) {
  DevicePeaks peaks;
  const ordered_json& allocator = device["allocator"];
  if (device.contains("peak_bytes")) {
    peaks.reserved = device["peak_bytes"].get<int64_t>();
    peaks.room = document["total_bytes"].get<int64_t>() - document["context_bytes"].get<int64_t>() -
                 *peaks.reserved;
  }
  if (allocator.is_object()) {
    peaks.allocated = allocator["peak_allocated_bytes"].get<int64_t>();
    peaks.reserved = allocator["peak_reserved_bytes"].get<int64_t>();
  }
  return peaks;
}

void write_json(const std::string& path, const ordered_json& document) {
  write_file_atomically(
      path, document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace headroom
