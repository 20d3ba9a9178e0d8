// The rate of a disk: typed, or the bound of its link. No torch here.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// PCIe 4.0 x4, the link of most NVMe disks, in bytes per second in one direction: 16 GT/s on each
// of four lanes, 128 of 130 bits are data (PCI Express Base Specification 4.0).
inline constexpr double kDiskLink = 16e9 * 4 / 8 * 128 / 130;

// By default the bound of a disk's link, which moves both ways at once.
struct DiskRate {
  double bytes_per_second = 0;  // read and written together; 0 = the link's bound

  double seconds(double read, double written) const;
  std::string in_words() const;  // "PCIe 4.0 x4, 7.88 GB/s each way"
};

// "7GB/s", "1500MiB/s". Throws UsageError.
DiskRate parse_disk_rate(std::string_view flag, std::string_view text);

}  // namespace headroom
