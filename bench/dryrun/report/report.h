// The result of a dry run, as a JSON document and as tables. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/dryrun/dryrun.h"

namespace headroom {

// The processes that used CUDA, each with its devices; a truncated or invalid report is left out.
// docs/programs/dryrun.md names the fields.
nlohmann::ordered_json dryrun_document(const DryRun& request, const DryRunOutcome& outcome);

// For people: one row per process and device, places of out-of-memory, and remarks. width: of the
// page, in columns; 0 = as wide as needed.
std::string dryrun_text(const nlohmann::ordered_json& document, size_t width = 0);

// Bytes of a device in a document; nothing where no statistics are known.
struct DevicePeaks {
  std::optional<int64_t> allocated;
  std::optional<int64_t> reserved;
  std::optional<int64_t> room;  // left on the card
};
DevicePeaks peaks_of(const nlohmann::ordered_json& document, const nlohmann::ordered_json& device);

// Writes a document to a file, which keeps its old content until the new one is complete. Throws
// std::runtime_error.
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace headroom
