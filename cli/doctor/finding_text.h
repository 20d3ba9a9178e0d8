// The findings as tables for people and as JSON for programs. No torch here.
#pragma once

#include <cstddef>
#include <string>

#include "cli/doctor/finding.h"

namespace headroom {

// True if steps run on this machine.
bool is_usable(const Findings& findings);

// A table of each area, then for each note and each missing part its effect and the command that
// repairs it, on a line of its own that is never folded. width: of the page; 0 = as wide as needed.
std::string to_text(const Findings& findings, size_t width);

// {"schema_version": 1, "usable": true, "checks": [{"area": ..., "check": ..., "state": "ok",
// "note", "missing" or "broken", "found": ..., "effect": ..., "repair": ..., "figures": {...}}]};
// an effect or a repair that does not exist is null.
nlohmann::ordered_json to_json(const Findings& findings);

}  // namespace headroom
