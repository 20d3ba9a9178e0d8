#include "bench/dryrun/breakdown/rows_json.h"

#include "bench/dryrun/breakdown/context.h"

namespace headroom {
namespace {

using nlohmann::json;

json categories_json(const std::vector<int64_t>& sums) {
  json named = json::object();
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != 0) named[std::string(category_name(static_cast<Category>(i)))] = sums[i];
  }
  return named;
}

}  // namespace

json instant_json(const Instant& instant) {
  json rows = json::array();
  for (const auto& [key, sum] : instant.rows) {
    rows.push_back({{"category", category_name(key.category)},
                    {"phase", phase_name(key.phase)},
                    {"owner", text_of(key.owner)},
                    {"operation", text_of(key.operation)},
                    {"place", text_of(key.place)},
                    {"reason", reason_text(key.reason)},
                    {"bytes", sum.bytes},
                    {"blocks", sum.blocks}});
  }
  return {
      {"allocated_bytes", instant.allocated}, {"reserved_bytes", instant.reserved}, {"rows", rows}};
}

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json ledger_json(int device, const Ledger& ledger) {
  json steps = json::array();
  for (const StepSum& step : ledger.steps()) {
    steps.push_back({{"owner", text_of(step.owner)},
                     {"first", step.first},
                     {"last", step.last},
                     {"peak_allocated_bytes", step.peak},
                     {"live_bytes_after", step.live_after},
                     {"categories", categories_json(step.categories)}});
  }
  return {{"ordinal", device},
          {"peak_step", ledger.peak_step()},
          {"peak", instant_json(ledger.peak())},
          {"steps", steps}};
}

}  // namespace headroom
