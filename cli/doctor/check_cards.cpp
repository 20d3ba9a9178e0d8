#include <fstream>
#include <memory>

#include "bench/cell/machine/card_words.h"
#include "cli/doctor/checks.h"
#include "files/directory.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using State = Finding::State;

constexpr const char* kCardsArea = "cards";
// From NVIDIA's package repository: the driver of Debian 12 is too old for CUDA 13.
constexpr const char* kDriverInstallation = "sudo apt-get install cuda-drivers";

// True if the machine has a card of NVIDIA's, with or without a driver.
bool has_nvidia_hardware() {
  constexpr const char* kDevices = "/sys/bus/pci/devices";
  constexpr const char* kNvidia = "0x10de";
  for (const std::string& device : names_in(kDevices)) {
    const std::string folder = in_directory(kDevices, device);
    std::string vendor;
    std::string kind;
    std::ifstream(folder + "/vendor") >> vendor;
    std::ifstream(folder + "/class") >> kind;
    if (vendor == kNvidia && kind.starts_with("0x03")) return true;  // a display controller
  }
  return false;
}

// "13.0" of 13000.
std::string cuda_text(int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Finding driver_finding(const NvmlCards& cards) {
  Finding finding{.area = kCardsArea, .name = "driver"};
  if (!cards.problem.empty()) {
    const bool has_card = has_nvidia_hardware();
    finding.state = State::kMissing;
    finding.found = cards.problem + (has_card ? "" : "; this machine has no NVIDIA card");
    finding.effect =
        "--device cuda and times of a card; --device virtual:h200 has its memory without one";
    if (has_card) finding.repair = kDriverInstallation;
    return finding;
  }
  finding.figures = {{"driver_version", cards.driver_version},
                     {"cuda_version", cards.cuda_version}};
  finding.found = cards.driver_version;
  if (cards.cuda_version == 0) return finding;
  finding.found += ", for CUDA " + cuda_text(cards.cuda_version) + " and older";
  if (cards.cuda_version / 1000 < HEADROOM_CUDA_MAJOR) {
    finding.state = State::kBroken;
    finding.effect = "--device cuda does not work: libtorch here uses CUDA " +
                     std::to_string(HEADROOM_CUDA_MAJOR) + ", which needs a newer driver";
    finding.repair = kDriverInstallation;
  }
  return finding;
}

Finding memory_finding(const Nvml& card, const std::string& name) {
  Finding finding{.area = kCardsArea, .name = name, .found = card.name()};
  const auto memory = card.memory();
  if (!memory) return finding;
  finding.found += ", " + format_bytes(memory->total_bytes) + ", " +
                   format_bytes(memory->used_bytes) + " in use";
  finding.figures = {{"name", card.name()},
                     {"total_bytes", memory->total_bytes},
                     {"used_bytes", memory->used_bytes}};
  return finding;
}

std::string clock_text(const CardState& state) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<int64_t>& value, const std::string& text) {
    if (value) parts.push_back(text);
  };
  const auto number = [](const std::optional<int64_t>& value) {
    return std::to_string(value.value_or(0));
  };
  const std::string highest =
      state.highest_sm_clock_mhz ? " of " + number(state.highest_sm_clock_mhz) : "";
  add(state.sm_clock_mhz, number(state.sm_clock_mhz) + highest + " MHz");
  add(state.memory_clock_mhz, "memory " + number(state.memory_clock_mhz) + " MHz");
  add(state.temperature_celsius, number(state.temperature_celsius) + " degrees Celsius");
  add(state.power_milliwatts,
      number_text(static_cast<double>(state.power_milliwatts.value_or(0)) / 1000, 0) + " W");
  if (state.clock_reasons) {
    const auto reasons = clock_reasons(*state.clock_reasons);
    parts.push_back("limited by: " + (reasons.empty() ? "nothing" : join(reasons)));
  }
  return parts.empty() ? "not available" : join(parts);
}

Finding clock_finding(const CardState& state, const std::string& name) {
  Finding finding{.area = kCardsArea, .name = name + " clock", .found = clock_text(state)};
  const auto put = [&](const char* key, const std::optional<int64_t>& value) {
    if (value) finding.figures[key] = *value;
  };
  put("sm_clock_mhz", state.sm_clock_mhz);
  put("highest_sm_clock_mhz", state.highest_sm_clock_mhz);
  put("memory_clock_mhz", state.memory_clock_mhz);
  put("temperature_celsius", state.temperature_celsius);
  put("power_milliwatts", state.power_milliwatts);
  if (!state.clock_reasons) return finding;
  finding.figures["clock_limited_by"] = clock_reasons(*state.clock_reasons);
  if (slowing_clock_reasons(*state.clock_reasons).empty()) return finding;
  finding.state = State::kNote;
  finding.effect = "times on this card are longer, and differ between runs";
  finding.repair = "nvidia-smi --query --display=PERFORMANCE,POWER,TEMPERATURE";
  return finding;
}

Finding users_finding(const CardState& state, const std::string& name) {
  Finding finding{.area = kCardsArea, .name = name + " users"};
  if (!state.processes) {
    finding.found = "not available";
    return finding;
  }
  std::vector<std::string> users;
  finding.figures["processes"] = nlohmann::json::array();
  for (const CardProcess& process : *state.processes) {
    users.push_back(in_words(process));
    finding.figures["processes"].push_back(process.pid);
  }
  finding.found = users.empty() ? "none" : join(users);
  if (users.empty()) return finding;
  finding.state = State::kNote;
  finding.effect = "times on this card, and the memory that is free for a run";
  finding.repair = "nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv";
  return finding;
}

}  // namespace

Findings check_cards(const std::string& nvml_library) {
  const NvmlCards cards = Nvml::cards(nvml_library);
  Findings findings = {driver_finding(cards)};
  for (size_t i = 0; i < cards.bus_ids.size(); ++i) {
    const std::unique_ptr<Nvml> card = Nvml::open(cards.bus_ids[i], nvml_library);
    if (card == nullptr) continue;
    const std::string name = "card " + std::to_string(i);
    const CardState state = card->look();
    findings.push_back(memory_finding(*card, name));
    findings.push_back(clock_finding(state, name));
    findings.push_back(users_finding(state, name));
  }
  return findings;
}

}  // namespace headroom
