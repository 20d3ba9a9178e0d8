#include "profiling/theory/host/disk_rate.h"

#include <algorithm>

#include "text/quantity.h"

namespace headroom {

double DiskRate::seconds(double read, double written) const {
  if (bytes_per_second > 0) return (read + written) / bytes_per_second;
  return std::max(read, written) / kDiskLink;
}

std::string DiskRate::in_words() const {
  const auto gigabytes = [](double rate) { return number_text(rate / 1e9, 2) + " GB/s"; };
  if (bytes_per_second > 0) return gigabytes(bytes_per_second) + " read and written";
  return "PCIe 4.0 x4, " + gigabytes(kDiskLink) + " each way";
}

DiskRate parse_disk_rate(std::string_view flag, std::string_view text) {
  constexpr std::string_view kPerSecond = "/s";
  int64_t bytes = 0;
  try {
    if (text.ends_with(kPerSecond)) {
      bytes = parse_bytes(flag, text.substr(0, text.size() - kPerSecond.size()));
    }
  } catch (const UsageError&) {  // its example is a size
    bytes = 0;
  }
  if (bytes > 0) return {.bytes_per_second = static_cast<double>(bytes)};
  throw UsageError(flag, text,
                   "is no rate; allowed: bytes read and written in a second, such as 7GB/s or "
                   "1500MiB/s",
                   "--optimizer-offload nvme:/mnt/nvme " + std::string(flag) + " 7GB/s");
}

}  // namespace headroom
