#include "profiling/theory/disk_rate.h"

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
  const auto refuse = [&](std::string_view problem) {
    throw UsageError(flag, text,
                     std::string(problem) +
                         "; allowed: bytes read and written in a second, such as "
                         "7GB/s or 1500MiB/s",
                     std::string(flag) + " 7GB/s");
  };
  if (!text.ends_with(kPerSecond)) refuse("is no rate");
  const int64_t bytes = parse_bytes(flag, text.substr(0, text.size() - kPerSecond.size()));
  if (bytes <= 0) refuse("is no disk's");
  return {.bytes_per_second = static_cast<double>(bytes)};
}

}  // namespace headroom
