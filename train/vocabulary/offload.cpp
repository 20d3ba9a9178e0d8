#include "train/vocabulary/offload.h"

namespace headroom {

const EnumWords<MemorySpace>& offload_words() {
  static const EnumWords<MemorySpace> kWords = {
      {MemorySpace::kDevice, "none", "it stays on the device"},
      {MemorySpace::kHost, "cpu", "in host memory"},
      {MemorySpace::kDisk, "nvme", "in a file"}};
  return kWords;
}

}  // namespace headroom
