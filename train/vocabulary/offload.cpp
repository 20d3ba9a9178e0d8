#include "train/vocabulary/offload.h"

#include <algorithm>

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
  return known->word + (offload.directory.empty() ? "" : ":" + offload.directory);
}

Offload parse_offload(const std::string& flag, std::string_view typed) {
  const std::vector<std::string> allowed = {"none", "cpu"};
  const std::string example = flag + " cpu";
  if (typed.starts_with("nvme")) {
    throw UsageError(flag, typed, "is not written yet; allowed: " + join(allowed), example);
  }
  check_name(flag, typed, allowed, example);
  return {.space = typed == "cpu" ? MemorySpace::kHost : MemorySpace::kDevice};
}

}  // namespace headroom
