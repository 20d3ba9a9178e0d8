#include "train/settings/vocabulary/offload.h"

#include <algorithm>
#include <vector>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {

const EnumWords<MemorySpace>& offload_words() {
  static const EnumWords<MemorySpace> kWords = {
      {MemorySpace::kDevice, "none", "it stays on the device"},
      {MemorySpace::kHost, "cpu", "in host memory"},
      {MemorySpace::kDisk, "nvme", "in a file"}};
  return kWords;
}

std::string to_string(const Offload& offload) {
  const auto known = std::find_if(offload_words().begin(), offload_words().end(),
                                  [&](const auto& row) { return row.value == offload.space; });
  return known->word + (offload.directory.empty() ? "" : ":" + offload.directory) +
         (offload.keep ? ",keep" : "");
}

Offload parse_offload(const std::string& flag, std::string_view typed) {
  const bool keeps = flag != "--param-offload";  // weights can be restored from the masters
  std::vector<std::string> allowed = {"none", "cpu", "nvme:DIR"};
  if (keeps) allowed.emplace_back("nvme:DIR,keep");
  const std::string on_disk = flag + " nvme:/mnt/nvme";
  constexpr std::string_view kDisk = "nvme:";
  if (!typed.starts_with(kDisk)) {
    if (typed == "none") return {};
    if (typed == "cpu") return {.space = MemorySpace::kHost};
    if (typed == "nvme") {
      throw UsageError(flag, typed, "names no directory; allowed: " + join(allowed), on_disk);
    }
    refuse_name(flag, typed, allowed, flag + " cpu");
  }
  const std::string_view place = typed.substr(kDisk.size());
  const std::string_view directory = place.substr(0, place.find(','));
  const std::string_view option = place.substr(directory.size());
  if (directory.empty()) {
    throw UsageError(flag, typed, "names no directory; allowed: " + join(allowed), on_disk);
  }
  if (!option.empty() && (option != ",keep" || !keeps)) {
    throw UsageError(flag, typed,
                     "has the unknown option '" + std::string(option.substr(1)) +
                         "'; allowed behind the directory: " + (keeps ? "keep" : "nothing") +
                         ", and no comma in its name",
                     keeps ? on_disk + ",keep" : on_disk);
  }
  return {
      .space = MemorySpace::kDisk, .keep = !option.empty(), .directory = std::string(directory)};
}

}  // namespace headroom
