#include "bench/cell/memory/traffic.h"

#include "train/offload/states/offloaded_optimizer.h"

namespace headroom {
namespace {

// Memory that is allocated throughout.
SpaceFigures constant(int64_t bytes) {
  return {.peak = {.allocated = bytes, .reserved = bytes, .requested = bytes}};
}

}  // namespace

Traffic Traffic::since(const Traffic& before) const {
  Traffic made = {link - before.link, disk};
  made.disk.read -= before.disk.read;
  made.disk.written -= before.disk.written;
  return made;
}

Traffic traffic_of(const Step& step) {
  Traffic traffic;
  if (step.copies) traffic.link = step.copies->traffic();
  if (const HostStates* states = step.update->host_states()) traffic.disk = states->disk();
  if (step.layout.offloaded) traffic.disk = traffic.disk + step.layout.offloaded->disk();
  return traffic;
}

void fill_traffic(const Traffic& traffic, Record& record) {
  if (traffic.link.any()) {
    record.host_traffic = {{"to_host", traffic.link.to_host}, {"to_card", traffic.link.to_card}};
  }
  if (!traffic.disk.any()) return;
  record.host_traffic["from_disk"] = traffic.disk.read;
  record.host_traffic["to_disk"] = traffic.disk.written;
  record.spaces["disk"] = constant(traffic.disk.files);
  if (traffic.disk.buffers > 0) record.spaces["disk_buffers"] = constant(traffic.disk.buffers);
}

}  // namespace headroom
