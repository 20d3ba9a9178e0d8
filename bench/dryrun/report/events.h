// A dry run's setting for the completion of work on the virtual card: Note [Late events] in
// virtual_gpu/device/streams/pending.h. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/dryrun/dryrun.h"

namespace headroom {

// "done", "late", "both"; throws UsageError.
Events parse_events(const std::string& text);
std::string events_name(Events events);

// For Events::kBoth: the second run, after one with the outcome `first`. With `distinct`, its ranks
// are those found by the first.
DryRun late_request(const DryRun& request, const DryRunOutcome& first);

// Adds the second run's document as field "late" of the first's, which takes its doubt of the peak.
void add_late_run(nlohmann::ordered_json& document, nlohmann::ordered_json late);

// The same device of the same process in the second run; null if there is none, or the two runs had
// different processes.
const nlohmann::ordered_json* late_device(const nlohmann::ordered_json& document, size_t process,
                                          const nlohmann::ordered_json& device);

// One line for people; "" if events are done at once.
std::string events_line(const nlohmann::ordered_json& document);

}  // namespace headroom
