// Bytes that a step moves beside its arithmetic, and their least time. No torch here.
#pragma once

#include <vector>

#include "profiling/record/record.h"
#include "profiling/theory/least_times.h"
#include "text/table.h"

namespace headroom {

// The bytes of each way; if the card's rates are known, the least time of each transfer and of a
// step with and without them (Note [The least time of copies]). Empty if nothing moves.
std::vector<Table> traffic_tables(const RunSpec& spec, const HostTraffic& traffic,
                                  const DiskFigures& disk, const DiskRate& disk_rate);
std::vector<Table> traffic_tables(const Record& record, const DiskRate& disk_rate = {});

}  // namespace headroom
