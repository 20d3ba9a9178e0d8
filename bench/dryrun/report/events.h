// When work on the virtual card is done, as a setting of a dry run: Note [Late events] in
// virtual_gpu/device/pending.h. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/dryrun/dryrun.h"

namespace headroom {

// "done", "late", "both"; throws UsageError.
Events parse_events(const std::string& text);
std::string events_name(Events events);

// For Events::kBoth: what runs second, after a run that came to `first`. Of `distinct` ranks those
// that the first found.
DryRun late_request(const DryRun& request, const DryRunOutcome& first);

// The document of the second run as a field of the first's, and who stands for whom.
void add_late_run(nlohmann::ordered_json& document, nlohmann::ordered_json late);

// The same device of the same process in the second run; null where there is none, or the two runs
// had other processes.
const nlohmann::ordered_json* late_device(const nlohmann::ordered_json& document, size_t process,
                                          const nlohmann::ordered_json& device);

// One line for people; "" with events that are done at once.
std::string events_line(const nlohmann::ordered_json& document);

}  // namespace headroom
