#include "train/vocabulary/disk_place.h"

namespace headroom {

DiskPlace disk_place(const Offload& offload) {
  const size_t comma = offload.directory.find(',');
  return {.directory = offload.directory.substr(0, comma), .keep = comma != std::string::npos};
}

}  // namespace headroom
