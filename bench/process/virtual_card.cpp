#include "bench/process/virtual_card.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "bench/process/loader_path.h"
#include "bench/process/program_folder.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

const Device kDefaultDevice{.kind = DeviceKind::kVirtual, .card = "h200"};
constexpr const char* kExample = "--device virtual:h200,bytes=80GiB";
// More than any model's training state, but within the address space.
constexpr int64_t kUnlimitedBytes = int64_t{16} << 40;

// Removed from the environment: the shell's value is about real cards, and virtual ones are
// numbered from 0. A program's own setting has its usual effect (virtual_gpu/device/machine.h).
constexpr const char* kNumbering = "CUDA_VISIBLE_DEVICES";

std::string library_folder() {
  if (const char* given = std::getenv("HEADROOM_VIRTUAL_GPU"); given != nullptr && *given != '\0') {
    return given;
  }
  return folder_above(program_folder()) + "/lib";
}

}  // namespace

VirtualCard virtual_card(const CardFlags& flags, std::string_view name, std::string_view size) {
  VirtualCard chosen{.card = find_card(name)};
  chosen.real_bytes = chosen.card.total_bytes;
  if (!chosen.card.refused.empty()) {
    throw UsageError(flags.card, name, "is refused: " + chosen.card.refused, flags.example);
  }
  if (size.empty()) return chosen;
  chosen.unlimited = size == "unlimited";
  try {
    chosen.card.total_bytes = chosen.unlimited ? kUnlimitedBytes : parse_bytes(flags.bytes, size);
  } catch (const UsageError& error) {
    throw error.with_example(flags.example);
  }
  if (chosen.card.total_bytes <= chosen.card.context_bytes ||
      chosen.card.total_bytes > kUnlimitedBytes) {
    throw UsageError(flags.bytes, size,
                     "leaves no memory beside the CUDA context, or is beyond 16TiB", flags.example);
  }
  return chosen;
}

VirtualCard virtual_card(const Device& device) {
  static const CardFlags kFlags{"--device", "--device bytes", kExample};
  return virtual_card(kFlags, device.card, device.bytes);
}

bool has_nvidia_card() {
  // The driver's device files; /dev/dxg is the card under Windows (WSL).
  if (::access("/dev/dxg", F_OK) == 0) return true;
  for (int i = 0; i < 16; ++i) {
    if (::access(("/dev/nvidia" + std::to_string(i)).c_str(), F_OK) == 0) return true;
  }
  return false;
}

Device settled(const Device& device) {
  return device.kind == DeviceKind::kAuto && !has_nvidia_card() ? kDefaultDevice : device;
}

std::vector<std::string> stand_in_libraries() {
  const std::string folder = library_folder();
  const std::vector<std::string> names = {"/libvirtual_gpu.so", "/driver/libcuda.so.1",
                                          "/driver/libnccl.so.2"};
  for (const std::string& name : names) {
    const std::string path = folder + name;
    if (::access(path.c_str(), R_OK) == 0) continue;
    throw std::runtime_error("the virtual GPU is not built: " + path +
                             " is missing (cmake --build --preset release, or set "
                             "HEADROOM_VIRTUAL_GPU to the folder that contains it)");
  }
  const std::string loadable = loader_path(folder);
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(loadable + name);
  return paths;
}

std::string path_list_variable(const std::string& name, const std::string& path) {
  const char* before = std::getenv(name.c_str());
  const bool is_set = before != nullptr && *before != '\0';
  return name + "=" + path + (is_set ? ":" + std::string(before) : "");
}

std::vector<std::string> stand_in_environment(const VirtualCard& card, int count,
                                              const std::string& report_prefix,
                                              const std::vector<std::string>& first,
                                              const std::vector<std::string>& last) {
  std::vector<std::string> libraries = stand_in_libraries();
  libraries.insert(libraries.begin(), first.begin(), first.end());
  libraries.insert(libraries.end(), last.begin(), last.end());
  std::vector<std::string> environment = {
      path_list_variable("LD_PRELOAD", join(libraries, ":")),
      "HEADROOM_VIRTUAL_CARD=" + stand_in_description(card.card),
      "HEADROOM_VIRTUAL_COUNT=" + std::to_string(count), kNumbering};
  if (!report_prefix.empty()) environment.push_back("HEADROOM_VIRTUAL_REPORT=" + report_prefix);
  return environment;
}

std::vector<std::string> cell_stand_in_environment(const VirtualCard& card, int count) {
  const std::string name = "/driver/libcublasLt.so";
  const std::string folder = library_folder();
  // With LD_BIND_NOW the real cuBLAS would look up cuBLASLt's private functions at once.
  const bool is_usable =
      ::access((folder + name).c_str(), R_OK) == 0 && std::getenv("LD_BIND_NOW") == nullptr;
  std::vector<std::string> last;
  if (is_usable) last.push_back(loader_path(folder) + name);
  return stand_in_environment(card, count, "", {}, last);
}

}  // namespace headroom
