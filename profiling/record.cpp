#include "profiling/record.h"

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "text/json_line.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<Status, const char*>, 8> kStatusWords = {
    {{Status::kOk, "ok"},
     {Status::kOom, "oom"},
     {Status::kUnsupported, "unsupported"},
     {Status::kUsage, "usage"},
     {Status::kUnwritable, "unwritable"},
     {Status::kFailed, "failed"},
     {Status::kKilled, "killed"},
     {Status::kTimeout, "timeout"}}};

json to_json(int64_t figure) { return figure; }
json to_json(const std::vector<int64_t>& figures) { return figures; }

json to_json(const MemoryBytes& bytes) {
  return {{"allocated_bytes", bytes.allocated},
          {"reserved_bytes", bytes.reserved},
          {"requested_bytes", bytes.requested}};
}

json to_json(const SpaceFigures& space);

template <typename Value>
json named_to_json(const Named<Value>& named) {
  json object = json::object();
  for (const auto& [name, value] : named) object[name.text()] = to_json(value);
  return object;
}

// The keys of a Record's own figures.
json to_json(const SpaceFigures& space) {
  return {{"peak_allocated_bytes", space.peak.allocated},
          {"peak_reserved_bytes", space.peak.reserved},
          {"peak_requested_bytes", space.peak.requested},
          {"phases", named_to_json(space.phases)},
          {"categories_at_peak_bytes", named_to_json(space.categories_at_peak)}};
}

json to_json(const RankFigures& one) {
  json object = to_json(one.peak);
  object.update({{"rank", one.rank}, {"status", to_string(one.status)}, {"reason", one.reason}});
  if (!one.alike.empty()) object["alike"] = one.alike;
  if (one.predicted_bytes > 0) object["predicted_bytes"] = one.predicted_bytes;
  if (!one.moved.empty()) object["moved_bytes"] = named_to_json(one.moved);
  if (!one.moved_calls.empty()) object["moved_calls"] = named_to_json(one.moved_calls);
  if (!one.predicted_moved.empty()) {
    object["predicted_moved_bytes"] = named_to_json(one.predicted_moved);
  }
  for (const auto& [phase, live] : one.phase_ends) {
    object["phase_end_bytes"][phase.text()] = named_to_json(live);
  }
  if (one.nccl_bytes > 0) object["nccl_bytes"] = one.nccl_bytes;
  return object;
}

json to_json(const OutOfMemory& moment) {
  json object = {{"during", moment.during}, {"phase", moment.phase}, {"memory", moment.memory}};
  if (!moment.grew_last.empty()) object["grew_last"] = moment.grew_last;
  if (!moment.components.empty()) object["component_bytes"] = named_to_json(moment.components);
  if (!moment.refusal) return object;
  const Refusal& refusal = *moment.refusal;
  object.update(to_json(refusal.live));
  object.update({{"tried_bytes", refusal.tried},
                 {"free_bytes", refusal.free},
                 {"total_bytes", refusal.total}});
  return object;
}

json to_json(const Watched& watched) {
  json object = {{"after_steps", json::array()}, {"growth", json::array()}};
  for (const MemoryBytes& bytes : watched.after_steps) {
    object["after_steps"].push_back(to_json(bytes));
  }
  for (const Growth& place : watched.growth) {
    object["growth"].push_back({{"bytes", place.bytes},
                                {"count", place.count},
                                {"phase", place.phase},
                                {"purpose", place.purpose},
                                {"stack", place.stack}});
  }
  return object;
}

json finite_numbers(const std::vector<double>& numbers);

json to_json(const GenerationFigures& times) {
  return {{"prompt_tokens", times.prompt_tokens},
          {"decoded_tokens", times.decoded_tokens},
          {"graph_pool_bytes", times.graph_pool_bytes},
          {"prefill_ms", finite_numbers(times.prefill_ms)},
          {"decode_ms", finite_numbers(times.decode_ms)}};
}

json finite(double number) { return std::isfinite(number) ? json(number) : json(nullptr); }

json to_json(const PpoFigures& figures) {
  json object = {{"setup", figures.setup.get()},
                 {"phases", json::array()},
                 {"packing",
                  {{"micro_batches", figures.packing.micro_batches},
                   {"tokens", figures.packing.tokens},
                   {"most_tokens", figures.packing.most_tokens}}},
                 {"iterations", json::array()}};
  for (const PhaseComponents& phase : figures.phases) {
    object["phases"].push_back({{"phase", phase.phase},
                                {"requested_bytes", phase.requested},
                                {"component_bytes", named_to_json(phase.components)},
                                {"instant_bytes", named_to_json(phase.instants)}});
  }
  if (figures.of_warm_up) object["of_warm_up"] = true;
  for (const IterationFigures& one : figures.iterations) {
    object["iterations"].push_back({{"score", finite(one.score)},
                                    {"kl", finite(one.kl)},
                                    {"reward", finite(one.reward)},
                                    {"response_tokens", finite(one.response_tokens)}});
  }
  return object;
}

// JSON has no NaN or infinity: they become null.
json finite_numbers(const std::vector<double>& numbers) {
  json array = json::array();
  for (const double number : numbers) {
    array.push_back(std::isfinite(number) ? json(number) : json(nullptr));
  }
  return array;
}

}  // namespace

std::string to_string(Status status) {
  for (const auto& [known, word] : kStatusWords) {
    if (known == status) return word;
  }
  return "failed";
}

Status status_from_string(const std::string& word) {
  for (const auto& [status, known] : kStatusWords) {
    if (word == known) return status;
  }
  throw std::invalid_argument("unknown status '" + word + "'");
}

json to_json(const Record& record) {
  json object = {{"schema_version", Record::kSchemaVersion},
                 {"name", row_name(record.spec)},
                 {"status", to_string(record.status)},
                 {"reason", record.reason},
                 {"spec", to_json(record.spec)},
                 {"environment", record.environment.get()},
                 {"phase_order", record.phase_order.get()},
                 {"peak_phase", record.peak_phase},
                 {"categories_at_peak_bytes", named_to_json(record.categories_at_peak)},
                 {"category_peak_bytes", named_to_json(record.category_peaks)},
                 {"predicted", named_to_json(record.predicted)},
                 {"step_ms", finite_numbers(record.step_ms)},
                 {"losses", finite_numbers(record.losses.get())},
                 {"trace_truncated", record.trace_truncated},
                 {"trace_events", record.trace_events},
                 {"notes", record.notes}};
  object["peak_allocated_bytes"] = record.peak ? json(record.peak->allocated) : json(nullptr);
  object["peak_reserved_bytes"] = record.peak ? json(record.peak->reserved) : json(nullptr);
  object["peak_requested_bytes"] = record.peak ? json(record.peak->requested) : json(nullptr);
  object["out_of_memory"] = record.out_of_memory ? to_json(*record.out_of_memory) : json(nullptr);
  object["recorded_peak"] = record.recorded_peak ? to_json(*record.recorded_peak) : json(nullptr);
  object["phases"] = named_to_json(record.phases);
  object["phase_runs"] = named_to_json(record.phase_runs);
  object["space"] = to_string(record.space);
  object["spaces"] = named_to_json(record.spaces);
  const auto or_null = [](const std::optional<int64_t>& value) {
    return value ? json(*value) : json(nullptr);
  };
  object["residual_bytes_per_block"] = or_null(record.residual_bytes_per_block);
  object["residual_tensors_per_block"] = or_null(record.residual_tensors_per_block);
  object["residual_blocks"] = json::array();
  for (const BlockResidual& block : record.residual_blocks) {
    object["residual_blocks"].push_back(
        {{"index", block.index}, {"bytes", block.bytes}, {"tensors", block.tensors}});
  }
  if (!record.ranks.get().empty()) object["ranks"] = json::array();
  for (const RankFigures& one : record.ranks) object["ranks"].push_back(to_json(one));
  object["saved_bytes"] = or_null(record.saved_bytes);
  if (record.watched) object["watched"] = to_json(*record.watched);
  if (record.generation) object["generation"] = to_json(*record.generation);
  if (record.ppo) object["ppo"] = to_json(*record.ppo);
  if (!record.host_traffic.empty()) {
    object["host_traffic_bytes"] = named_to_json(record.host_traffic);
  }
  if (record.recomputed_bytes) object["recomputed_bytes"] = *record.recomputed_bytes;
  return object;
}

std::string fullest_phase(const Record& record, int64_t MemoryBytes::*quantity) {
  std::string fullest;
  int64_t most = -1;
  for (const std::string& name : record.phase_order) {
    const auto it = record.phases.find(name);
    if (it == record.phases.end() || it->second.*quantity <= most) continue;
    most = it->second.*quantity;
    fullest = name;
  }
  return fullest;
}

std::string to_json_line(const Record& record) { return json_line(to_json(record)); }

}  // namespace headroom
