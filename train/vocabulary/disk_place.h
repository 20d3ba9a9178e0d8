// Where on a disk something is kept. No torch here.
#pragma once

#include <string>

#include "train/vocabulary/offload.h"

namespace headroom {

struct DiskPlace {
  std::string directory;
  bool keep = false;  // the files stay when the run ends
};

// Of a setting "nvme:DIR" or "nvme:DIR,keep".
DiskPlace disk_place(const Offload& offload);

}  // namespace headroom
