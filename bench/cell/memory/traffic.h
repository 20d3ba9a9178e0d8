// What techniques that offload moved: over the host link, and to and from a disk.
#pragma once

#include "profiling/record/record.h"
#include "train/offload/host_traffic.h"
#include "train/offload/states/host_states.h"
#include "train/step.h"

namespace headroom {

struct Traffic {
  HostTraffic link;
  DiskFigures disk;  // its files and buffers are what they are now

  Traffic operator+(const Traffic& more) const { return {link + more.link, disk + more.disk}; }
  // Of what was moved; files and buffers stay.
  Traffic since(const Traffic& before) const;
};

// Of one step, so far.
Traffic traffic_of(const Step& step);

// record.host_traffic, and the disk among its spaces. Nothing where nothing was moved.
void fill_traffic(const Traffic& traffic, Record& record);

}  // namespace headroom
