#include "bench/dryrun/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>

namespace headroom {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// "report.123.json" and "report.123.torch.json" of one process belong together.
struct Halves {
  json stand_in;   // null: the process ended before it could say
  json allocator;  // null: neither hook nor observer
};

std::map<int64_t, Halves> by_process(const std::vector<std::string>& reports) {
  std::map<int64_t, Halves> processes;
  for (const std::string& text : reports) {
    json report = json::parse(text, nullptr, false);
    if (!report.is_object() || !report.contains("pid")) continue;
    Halves& halves = processes[report["pid"].get<int64_t>()];
    (report.contains("torch") ? halves.allocator : halves.stand_in) = std::move(report);
  }
  return processes;
}

// Asking which cards there are is no use of them.
bool is_used(const json& device) {
  constexpr std::array kSigns = {"launches", "allocations", "refused_allocations", "graph_launches",
                                 "bytes_to_device"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](const char* sign) { return device.value(sign, int64_t{0}) > 0; });
}

bool is_library(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  constexpr std::array kOthers = {"libtorch",   "libc10", "libc.so",  "libstdc++", "libgcc",
                                  "libpthread", "libcu",  "ld-linux", "libgomp",   "libheadroom"};
  return std::any_of(kOthers.begin(), kOthers.end(),
                     [&](const char* other) { return name.starts_with(other); });
}

// The innermost call that is the program's own: "train(int)", or "train+0x1a2b" of a program that
// exports no names.
std::string own_frame(const json& frames) {
  for (const json& frame : frames) {
    const std::string library = frame.value("library", "");
    if (library.empty() || is_library(library)) continue;
    const std::string file = std::filesystem::path(library).filename().string();
    const std::string name = frame.value("name", "");
    std::array<char, 32> offset{};
    std::snprintf(offset.data(), offset.size(), "0x%llx",
                  static_cast<unsigned long long>(frame.value("offset", uint64_t{0})));
    std::string text = name.empty() ? file : name;
    return name.empty() ? text.append("+").append(offset.data())
                        : text.append(" (").append(file).append(")");
  }
  return "";
}

// What the Python hook noted of this device, else the stack of the last refusal.
ordered_json out_of_memory(const json& device, const Halves& halves) {
  ordered_json places = ordered_json::array();
  const int64_t ordinal = device.value("ordinal", int64_t{0});
  for (const json& refused : halves.allocator.value("refused", json::array())) {
    if (refused.value("device", int64_t{0}) == ordinal) places.push_back(ordered_json(refused));
  }
  if (!places.empty() || device.value("refused_allocations", int64_t{0}) == 0) return places;
  places.push_back({{"device", ordinal},
                    {"wanted_bytes", device.value("largest_refused_bytes", int64_t{0})},
                    {"where", own_frame(device.value("refused_at", json::array()))}});
  return places;
}

ordered_json device_document(const json& device, const Halves& halves) {
  ordered_json out = device;
  out.erase("refused_at");
  out["allocator"] = nullptr;
  for (const json& known : halves.allocator.value("devices", json::array())) {
    if (known.value("ordinal", -1) == device.value("ordinal", -2)) out["allocator"] = known;
  }
  const bool failed =
      out["allocator"].is_null() || out["allocator"].value("out_of_memory", int64_t{0}) > 0;
  out["out_of_memory"] = failed ? out_of_memory(device, halves) : ordered_json::array();
  return out;
}

ordered_json process_document(int64_t pid, Halves halves) {
  if (!halves.allocator.is_object()) halves.allocator = json::object();
  ordered_json process = {{"pid", pid},
                          {"command", halves.stand_in.value("command", "")},
                          {"torch", halves.allocator.value("torch", "")},
                          {"statistics_readable", halves.allocator.value("readable", true)},
                          {"uncaught", halves.allocator.value("uncaught", "")},
                          {"snapshot", halves.allocator.value("snapshot", "")}};
  for (const char* field : {"small_host_reads", "peak_pinned_bytes", "not_supported", "assumed"}) {
    if (halves.stand_in.contains(field)) process[field] = halves.stand_in[field];
  }
  process["devices"] = ordered_json::array();
  for (const json& device : halves.stand_in.value("devices", json::array())) {
    if (is_used(device)) process["devices"].push_back(device_document(device, halves));
  }
  return process;
}

}  // namespace

ordered_json dryrun_document(const DryRun& request, const DryRunOutcome& outcome) {
  const VirtualCard& card = request.card;
  ordered_json document = {
      {"schema_version", 1},
      {"program", request.words},
      {"card", card.card.name},
      {"count", request.count},
      {"total_bytes", card.unlimited ? card.real_bytes : card.card.total_bytes},
      {"is_unlimited", card.unlimited},
      {"context_bytes", card.card.context_bytes},
      {"alloc_conf", request.alloc_conf},
      {"exit_code", outcome.exit_code},
      {"signal", outcome.signal},
      {"seconds", outcome.seconds},
      {"processes", ordered_json::array()}};
  for (const auto& [pid, halves] : by_process(outcome.reports)) {
    if (!halves.stand_in.is_object()) continue;
    ordered_json process = process_document(pid, halves);
    if (!process["devices"].empty()) document["processes"].push_back(std::move(process));
  }
  return document;
}

}  // namespace headroom
