// One card to JSON and back, in the format of cards/cards.json. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cards/cards.h"

namespace headroom {

// Keys of `sources`. "properties" covers every figure without a line of its own; "host_bandwidth"
// also covers host_link.
inline constexpr const char* kSourceKeys[] = {"properties", "total_bytes", "memory_bandwidth",
                                              "host_bandwidth", "peak_tflops"};

// `document` holds the cards' shared data: compute_capabilities and context_rule. Throws UsageError
// that begins with `where` and names the field.
Card card_from_json(const std::string& where, const nlohmann::json& card,
                    const nlohmann::json& document);

nlohmann::ordered_json to_json(const Card& card);
nlohmann::ordered_json to_json(const MultiprocessorLimits& limits);

// Throws UsageError, one line, if `object` has a key that is not in `known`.
void refuse_unknown_keys(const std::string& where, const nlohmann::json& object,
                         const std::vector<std::string>& known);

}  // namespace headroom
