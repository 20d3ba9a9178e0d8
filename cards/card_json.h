// One card to JSON and back, in the format of cards/cards.json. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cards/cards.h"

namespace headroom {

// The texts of `sources`. "properties" is of every figure that has no line of its own;
// "host_bandwidth" is of host_link too.
inline constexpr const char* kSourceKeys[] = {"properties", "total_bytes", "memory_bandwidth",
                                              "host_bandwidth", "peak_tflops"};

// `document` holds what cards share: compute_capabilities and context_rule. Throws UsageError that
// begins with `where` and names the field.
Card card_from_json(const std::string& where, const nlohmann::json& card,
                    const nlohmann::json& document);

nlohmann::ordered_json to_json(const Card& card);
nlohmann::ordered_json to_json(const MultiprocessorLimits& limits);

// One line on a key of `object` that is not in `known`; nothing when all are.
void refuse_unknown_keys(const std::string& where, const nlohmann::json& object,
                         const std::vector<std::string>& known);

}  // namespace headroom
