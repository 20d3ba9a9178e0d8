// The counts of a ledger as JSON, with texts for numbers. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/dryrun/breakdown/ledger.h"

namespace headroom {

nlohmann::json instant_json(const Instant& instant);
nlohmann::json ledger_json(int device, const Ledger& ledger);
// Names that are not UTF-8 have a replacement character.
std::string json_text(const nlohmann::json& value);

}  // namespace headroom
