#include "bench/cell/machine/card_watch.h"

#include <unistd.h>

#include <algorithm>

#include "bench/cell/machine/card_words.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;

// In a container the driver reports the host's pids, and our own host pid is not known. If no pid
// is ours, one of them is this process.
std::vector<CardProcess> without_us(std::vector<CardProcess> processes) {
  const auto us = std::find_if(processes.begin(), processes.end(),
                               [](const CardProcess& process) { return process.pid == getpid(); });
  if (us != processes.end()) {
    processes.erase(us);
  } else if (!processes.empty()) {
    processes.pop_back();
  }
  return processes;
}

}  // namespace

CardWatch::CardWatch(const std::string& pci_bus_id, const std::string& library) {
  if (!pci_bus_id.empty()) nvml_ = Nvml::open(pci_bus_id, library);
}

void CardWatch::widen(const char* name, std::optional<int64_t> value) {
  if (!value) return;
  const auto [range, is_new] = ranges_.try_emplace(name, Range{*value, *value});
  if (is_new) return;
  range->second.low = std::min(range->second.low, *value);
  range->second.high = std::max(range->second.high, *value);
}

void CardWatch::remember(const std::vector<CardProcess>& processes) {
  knows_processes_ = true;
  for (const CardProcess& process : without_us(processes)) {
    const auto [known, is_new] = others_.try_emplace(process.pid, process);
    if (!is_new) known->second.used_bytes = std::max(known->second.used_bytes, process.used_bytes);
  }
}

void CardWatch::look() {
  if (!nvml_) return;
  const CardState state = nvml_->look();
  ++looks_;
  widen("sm_clock_mhz", state.sm_clock_mhz);
  widen("memory_clock_mhz", state.memory_clock_mhz);
  widen("temperature_celsius", state.temperature_celsius);
  widen("power_milliwatts", state.power_milliwatts);
  if (state.highest_sm_clock_mhz) highest_sm_clock_mhz_ = state.highest_sm_clock_mhz;
  if (state.clock_reasons) clock_reasons_ = clock_reasons_.value_or(0) | *state.clock_reasons;
  if (state.processes) remember(*state.processes);
}

void CardWatch::fill(Record& record) const {
  if (!nvml_ || looks_ == 0) return;
  json& nvml = record.environment["nvml"];
  nvml = {{"driver_version", nvml_->driver_version()}, {"looks", looks_}};
  for (const auto& [name, range] : ranges_) {
    nvml[name] = {{"lowest", range.low}, {"highest", range.high}};
  }
  if (highest_sm_clock_mhz_) nvml["highest_sm_clock_mhz"] = *highest_sm_clock_mhz_;
  if (clock_reasons_) {
    nvml["clock_limited_by"] = clock_reasons(*clock_reasons_);
    const auto slowing = slowing_clock_reasons(*clock_reasons_);
    if (!slowing.empty()) {
      record.notes.push_back("the card's clock was lowered between timed steps: " + join(slowing));
    }
  }
  if (!knows_processes_) return;
  nvml["other_processes"] = json::array();
  std::vector<std::string> others;
  for (const auto& [pid, process] : others_) {
    nvml["other_processes"].push_back(
        {{"pid", pid},
         {"used_bytes", process.used_bytes ? json(*process.used_bytes) : json(nullptr)}});
    others.push_back(in_words(process));
  }
  if (!others.empty()) {
    record.notes.push_back("other processes used the card while steps were timed: " + join(others));
  }
}

}  // namespace headroom
