// The counts of a ledger as JSON, with texts for numbers. No torch here.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/dryrun/breakdown/ledger.h"

namespace headroom {

nlohmann::json instant_json(const Instant& instant);
nlohmann::json ledger_json(int device, const Ledger& ledger);

}  // namespace headroom
