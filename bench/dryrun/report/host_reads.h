// A program's reads from the card, and their effect on the peak. No torch here.
// Note [Data-dependent control flow] (virtual_gpu/report/host_read.h)
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// The reads of one process, from the reports of the stand-in and the Python hook: counts, and lines
// by effect and count. docs/programs/dryrun.md names the fields.
nlohmann::ordered_json host_reads_document(const nlohmann::json& stand_in,
                                           const nlohmann::json& allocator);

// True if the process took, or may have taken, another path than it would on a card.
bool may_be_steered(const nlohmann::ordered_json& host_reads);

// The warning and the reading lines; only answered tests if nothing may have been steered.
// has_failed: the program ended with an error, so it did not reach all of its lines.
std::string host_reads_text(const std::string& who, const nlohmann::ordered_json& host_reads,
                            bool has_failed);

}  // namespace headroom
