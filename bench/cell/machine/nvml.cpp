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

struct MemoryInfo {  // nvmlMemory_t
  unsigned long long total, free, used;
};

struct PciInfo {  // nvmlPciInfo_t since its third version
  std::array<char, 16> legacy_bus_id;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> bus_id;
};

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

// Without a card. nullptr, and the problem, if the library is missing or does not start.
std::unique_ptr<Nvml> Nvml::start(const std::string& library, std::string& problem) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    problem = library + " is not available";
    return nullptr;
  }
  std::unique_ptr<Nvml> nvml(new Nvml(handle));
  const auto init = nvml->function<int()>("nvmlInit_v2");
  const int result = init == nullptr ? -1 : init();
  if (result == kSuccess) return nvml;
  const auto words = nvml->function<const char*(int)>("nvmlErrorString");
  problem = library + " does not start: " +
            (words == nullptr ? "error " + std::to_string(result) : words(result));
  return nullptr;
}

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id, const std::string& library) {
  std::string problem;
  std::unique_ptr<Nvml> nvml = start(library, problem);
  if (nvml == nullptr) return nullptr;
  const auto find = nvml->function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (find == nullptr || find(pci_bus_id.c_str(), &nvml->card_) != kSuccess) return nullptr;
  return nvml;
}

// "" if the driver has no such card.
std::string Nvml::bus_id(unsigned index) const {
  const auto find = function<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
  const auto ask = function<int(void*, PciInfo*)>("nvmlDeviceGetPciInfo_v3");
  void* card = nullptr;
  PciInfo info{};
  if (find == nullptr || ask == nullptr || find(index, &card) != kSuccess ||
      ask(card, &info) != kSuccess) {
    return "";
  }
  return info.bus_id.data();
}

NvmlCards Nvml::cards(const std::string& library) {
  NvmlCards found;
  const std::unique_ptr<Nvml> nvml = start(library, found.problem);
  if (nvml == nullptr) return found;
  found.driver_version = nvml->driver_version();
  int version = 0;
  const auto ask_version = nvml->function<int(int*)>("nvmlSystemGetCudaDriverVersion_v2");
  if (ask_version != nullptr && ask_version(&version) == kSuccess) found.cuda_version = version;
  unsigned count = 0;
  const auto ask_count = nvml->function<int(unsigned*)>("nvmlDeviceGetCount_v2");
  if (ask_count == nullptr || ask_count(&count) != kSuccess) return found;
  for (unsigned i = 0; i < count; ++i) {
    if (std::string bus = nvml->bus_id(i); !bus.empty()) found.bus_ids.push_back(std::move(bus));
  }
  return found;
}

// The library stays loaded: unloading a driver's library while CUDA runs gains nothing.
Nvml::~Nvml() = default;

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  const auto ask = function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  if (ask == nullptr || ask(text.data(), text.size() - 1) != kSuccess) return "";
  return text.data();
}

std::string Nvml::name() const {
  std::array<char, 96> text{};
  const auto ask = function<int(void*, char*, unsigned)>("nvmlDeviceGetName");
  if (ask == nullptr || ask(card_, text.data(), text.size() - 1) != kSuccess) return "";
  return text.data();
}

std::optional<CardMemory> Nvml::memory() const {
  MemoryInfo info{};
  const auto ask = function<int(void*, MemoryInfo*)>("nvmlDeviceGetMemoryInfo");
  if (ask == nullptr || ask(card_, &info) != kSuccess) return std::nullopt;
  return CardMemory{static_cast<int64_t>(info.total), static_cast<int64_t>(info.used)};
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
