#include "bench/cell/machine/nvml.h"

#include <dlfcn.h>

#include <array>
#include <limits>

namespace headroom {
namespace {

// From nvml.h.
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;

struct ProcessInfo {  // nvmlProcessInfo_t since its second version
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace

template <typename Function>
Function* Nvml::function(const char* name) const {
  return reinterpret_cast<Function*>(dlsym(library_, name));
}

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id, const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  std::unique_ptr<Nvml> nvml(new Nvml(handle));
  const auto init = nvml->function<int()>("nvmlInit_v2");
  const auto find = nvml->function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || find == nullptr || init() != kSuccess) return nullptr;
  if (find(pci_bus_id.c_str(), &nvml->card_) != kSuccess) return nullptr;
  return nvml;
}

// The library stays loaded: unloading a driver's library while CUDA runs gains nothing.
Nvml::~Nvml() = default;

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  const auto ask = function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  if (ask == nullptr || ask(text.data(), text.size() - 1) != kSuccess) return "";
  return text.data();
}

// Calls a function with the card, `arguments`, and a pointer for its unsigned result.
template <typename... Arguments>
std::optional<int64_t> Nvml::number(const char* name, Arguments... arguments) const {
  const auto ask = function<int(void*, Arguments..., unsigned*)>(name);
  unsigned value = 0;
  if (ask == nullptr || ask(card_, arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

std::optional<std::vector<CardProcess>> Nvml::processes() const {
  const auto ask =
      function<int(void*, unsigned*, ProcessInfo*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  if (ask == nullptr) return std::nullopt;
  std::vector<ProcessInfo> found(64);
  auto count = static_cast<unsigned>(found.size());
  int status = ask(card_, &count, found.data());
  if (status == kInsufficientSize) {
    found.resize(size_t{count} + 64);  // some may start meanwhile
    count = static_cast<unsigned>(found.size());
    status = ask(card_, &count, found.data());
  }
  if (status != kSuccess) return std::nullopt;
  std::vector<CardProcess> processes;
  for (unsigned i = 0; i < count; ++i) {
    CardProcess process{.pid = found[i].pid};
    if (found[i].used_bytes <= std::numeric_limits<int64_t>::max()) {  // else: not available
      process.used_bytes = static_cast<int64_t>(found[i].used_bytes);
    }
    processes.push_back(process);
  }
  return processes;
}

CardState Nvml::look() const {
  CardState state{
      .sm_clock_mhz = number("nvmlDeviceGetClockInfo", kClockSm),
      .highest_sm_clock_mhz = number("nvmlDeviceGetMaxClockInfo", kClockSm),
      .memory_clock_mhz = number("nvmlDeviceGetClockInfo", kClockMemory),
      .temperature_celsius = number("nvmlDeviceGetTemperature", kTemperatureGpu),
      .power_milliwatts = number("nvmlDeviceGetPowerUsage"),
      .processes = processes(),
  };
  // The first name since driver 535, the second before it.
  for (const char* name :
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
    const auto ask = function<int(void*, unsigned long long*)>(name);
    unsigned long long reasons = 0;
    if (ask == nullptr || ask(card_, &reasons) != kSuccess) continue;
    state.clock_reasons = reasons;
    break;
  }
  return state;
}

}  // namespace headroom
