// What a program read back from the card, judged. No torch here.
// Note [Values that steer] (virtual_gpu/report/host_read.h)
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// Of one process, from what the stand-in and the Python hook noted: counts, and lines by how often
// they read. docs/dryrun.md names the fields.
nlohmann::ordered_json host_reads_document(const nlohmann::json& stand_in,
                                           const nlohmann::json& allocator);

// Whether the process took, or may have taken, another way than it would on a card.
bool may_be_steered(const nlohmann::ordered_json& host_reads);

// The warning and the lines that read; "" where nothing may have been steered. has_failed: the
// program ended with an error, so it did not reach all of its lines.
std::string host_reads_text(const std::string& who, const nlohmann::ordered_json& host_reads,
                            bool has_failed);

}  // namespace headroom
