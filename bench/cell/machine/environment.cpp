#include "bench/cell/machine/environment.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "bench/cell/machine/build_revision.h"
#include "bench/cell/machine/device.h"

namespace headroom {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

// The value of "key : value" in a /proc file.
std::string proc_field(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t begin = line.find_first_not_of(" \t:", line.find(':'));
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// The file names in a list such as LD_PRELOAD, without folders: locations on this machine are
// irrelevant.
std::string file_names(std::string paths) {
  std::replace(paths.begin(), paths.end(), ' ', ':');
  std::istringstream stream(paths);
  std::string names;
  for (std::string path; std::getline(stream, path, ':');) {
    const size_t slash = path.rfind('/');
    if (!names.empty()) names += ":";
    names += slash == std::string::npos ? path : path.substr(slash + 1);
  }
  return names;
}

nlohmann::json allocator_variables() {
  nlohmann::json variables = nlohmann::json::object();
  for (const char* name :
       {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG",
        "CUBLASLT_WORKSPACE_SIZE", "PYTORCH_NO_CUDA_MEMORY_CACHING"}) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  if (const char* value = std::getenv("LD_PRELOAD")) variables["LD_PRELOAD"] = file_names(value);
  return variables;
}

std::string cpu_model() {
  const std::string model = proc_field("/proc/cpuinfo", "model name");
  if (!model.empty()) return model;
  utsname host{};  // not every architecture has that line
  uname(&host);
  return host.machine;
}

// Everything about the CPU that determines times: "Intel(R) Xeon(R) ..., AVX512, 16 CPUs".
std::string cpu_identity() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const bool known = sched_getaffinity(0, sizeof(usable), &usable) == 0;
  const int64_t count = known ? CPU_COUNT(&usable) : sysconf(_SC_NPROCESSORS_ONLN);
  return cpu_model() + ", " + at::get_cpu_capability() + ", " + std::to_string(count) + " CPUs";
}

std::string device_name(torch::Device device) {
  if (device.is_cuda()) return at::cuda::getDeviceProperties(device.index())->name;
  return cpu_model();
}

}  // namespace

nlohmann::json environment(torch::Device device) {
  utsname host{};
  uname(&host);
  nlohmann::json result = build_identity();
  result["device"] = device.str();
  result["device_name"] = device_name(device);
  result["device_is_real"] = is_real(device);
  result["threads"] = at::get_num_threads();
  result["cpus"] = sysconf(_SC_NPROCESSORS_ONLN);
  result["cpu_capability"] = at::get_cpu_capability();
  result["host_memory_total"] = proc_field("/proc/meminfo", "MemTotal");
  result["kernel"] = host.release;
  result["allocator_variables"] = allocator_variables();
  result["time_utc"] = utc_now();
  if (device.is_cuda()) {
    const auto* properties = at::cuda::getDeviceProperties(device.index());
    result["compute_capability"] =
        std::to_string(properties->major) + "." + std::to_string(properties->minor);
    result["device_total_bytes"] = static_cast<int64_t>(properties->totalGlobalMem);
    result["multiprocessors"] = properties->multiProcessorCount;
  }
  return result;
}

std::string pci_bus_id(torch::Device device) {
  if (!device.is_cuda() || !is_real(device)) return "";
  const auto* properties = at::cuda::getDeviceProperties(device.index());
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%08X:%02X:%02X.0", properties->pciDomainID,
                properties->pciBusID, properties->pciDeviceID);
  return text.data();
}

nlohmann::json program_identity() {
  return {{"build", build_revision()},
          {"build_settings", build_settings()},
          {"libtorch", TORCH_VERSION},
          {"devices", nlohmann::json::array()},
          {"cpu", cpu_identity()}};
}

nlohmann::json build_identity() {
  nlohmann::json identity = program_identity();
  const int count = static_cast<int>(torch::cuda::device_count());
  for (int i = 0; i < count; ++i) {
    identity["devices"].push_back(
        at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(i))->name);
  }
  return identity;
}

nlohmann::json alloc_conf_keys() {
  // The settings are read once: some while libtorch is loaded, the rest here at the latest.
  c10::CachingAllocator::AcceleratorAllocatorConfig::instance();
  c10::cuda::CUDACachingAllocator::CUDAAllocatorConfig::instance();
  std::set<std::string> keys;
  for (const auto* known : {&c10::CachingAllocator::AcceleratorAllocatorConfig::getKeys(),
                            &c10::cuda::CUDACachingAllocator::CUDAAllocatorConfig::getKeys()}) {
    keys.insert(known->begin(), known->end());
  }
  std::erase_if(keys, [](const std::string& key) { return key.find("hip") != std::string::npos; });
  return keys;
}

}  // namespace headroom
