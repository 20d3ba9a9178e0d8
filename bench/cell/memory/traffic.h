// The traffic of offloading: over the host link, and to and from a disk.
#pragma once

#include "profiling/record/record.h"
#include "train/offload/host_traffic.h"
#include "train/offload/states/host_states.h"
#include "train/step.h"

namespace headroom {

struct Traffic {
  HostTraffic link;
  DiskFigures disk;  // files and buffers are current sizes, not sums

  Traffic operator+(const Traffic& more) const { return {link + more.link, disk + more.disk}; }
  // Subtracts the moved bytes; files and buffers stay.
  Traffic since(const Traffic& before) const;
};

// The traffic of a step so far.
Traffic traffic_of(const Step& step);

// Sets record.host_traffic and the disk's spaces. Does nothing without traffic.
void fill_traffic(const Traffic& traffic, Record& record);

}  // namespace headroom
