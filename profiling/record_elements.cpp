#include "profiling/record_elements.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "text/quantity.h"

namespace headroom {
namespace {

using namespace std::string_view_literals;
using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

[[noreturn]] void refuse(const element& value, const char* wanted) {
  throw std::invalid_argument(std::string(simdjson::minify(value)).substr(0, 100) + " is no " +
                              wanted);
}

// null is what a Record has where there is no figure.
int64_t signed_integer(const element& value) {
  int64_t whole = 0;
  double number = 0;
  if (value.get(whole) == SUCCESS || value.is_null()) return whole;
  if (value.get(number) != SUCCESS || !(std::abs(number) < 0x1p63)) refuse(value, "number");
  return static_cast<int64_t>(number);
}

// Bytes, counts and numbers of things: none is negative.
int64_t integer(const element& value) {
  const int64_t figure = signed_integer(value);
  if (figure < 0) refuse(value, "number from 0 on");
  return figure;
}

std::string text(const element& value) {
  std::string_view found;
  if (value.get(found) != SUCCESS && !value.is_null()) refuse(value, "text");
  return std::string(found);
}

object members(const element& value) {
  object found;
  if (value.get(found) != SUCCESS) refuse(value, "object");
  return found;
}

void read(const element& value, int64_t& figure) { figure = integer(value); }
void read(const element& value, std::string& words) { words = text(value); }
void read(const element& value, std::optional<int64_t>& figure) {
  if (!value.is_null()) figure = integer(value);
}
void read(const element& value, bool& fact) {
  if (value.get(fact) != SUCCESS) refuse(value, "truth");
}
// null stands for NaN and infinity.
void read(const element& value, double& number) {
  if (value.is_null()) {
    number = std::nan("");
  } else if (value.get(number) != SUCCESS || !std::isfinite(number)) {
    refuse(value, "number");
  }
}

template <typename Value>
void read(const element& value, Named<Value>& named);
template <typename Value>
void read(const element& value, std::vector<Value>& list);
void read(const element& value, PackingFigures& packing);
void read(const element& value, Status& status) { status = status_from_string(text(value)); }

// Reads the member `key` of an object where it has one.
template <typename Value>
void read(const object& of, const char* key, Value& into) {
  element value;
  if (of[key].get(value) == SUCCESS) read(value, into);
}

void read(const element& value, MemoryBytes& bytes) {
  const object of = members(value);
  read(of, "allocated_bytes", bytes.allocated);
  read(of, "reserved_bytes", bytes.reserved);
  read(of, "requested_bytes", bytes.requested);
}
void read(const element& value, std::optional<MemoryBytes>& bytes) {
  if (value.is_object()) read(value, bytes.emplace());
}

void read_peak(const object& of, MemoryBytes& peak) {
  read(of, "peak_allocated_bytes", peak.allocated);
  read(of, "peak_reserved_bytes", peak.reserved);
  read(of, "peak_requested_bytes", peak.requested);
}

void read(const element& value, BlockResidual& block) {
  const object of = members(value);
  read(of, "index", block.index);
  read(of, "bytes", block.bytes);
  read(of, "tensors", block.tensors);
}

void read(const element& value, SpaceFigures& space) {
  const object of = members(value);
  read_peak(of, space.peak);
  read(of, "phases", space.phases);
  read(of, "categories_at_peak_bytes", space.categories_at_peak);
}

void read(const element& value, Growth& place) {
  const object of = members(value);
  element change;
  if (of["bytes"].get(change) == SUCCESS) place.bytes = signed_integer(change);
  if (of["count"].get(change) == SUCCESS) place.count = signed_integer(change);
  read(of, "phase", place.phase);
  read(of, "purpose", place.purpose);
  read(of, "stack", place.stack);
}

void read(const element& value, RankFigures& one) {
  const object of = members(value);
  read(of, "rank", one.rank);
  read(of, "status", one.status);
  read(of, "reason", one.reason);
  read(of, "alike", one.alike);
  read(value, one.peak);
  read(of, "predicted_bytes", one.predicted_bytes);
  read(of, "moved_bytes", one.moved);
  read(of, "moved_calls", one.moved_calls);
  read(of, "predicted_moved_bytes", one.predicted_moved);
  read(of, "phase_end_bytes", one.phase_ends);
  read(of, "nccl_bytes", one.nccl_bytes);
}

void read(const element& value, PhaseComponents& phase) {
  const object of = members(value);
  read(of, "phase", phase.phase);
  read(of, "requested_bytes", phase.requested);
  read(of, "component_bytes", phase.components);
  read(of, "instant_bytes", phase.instants);
}

void read(const element& value, PackingFigures& packing) {
  const object of = members(value);
  read(of, "micro_batches", packing.micro_batches);
  read(of, "tokens", packing.tokens);
  read(of, "most_tokens", packing.most_tokens);
}

void read(const element& value, IterationFigures& one) {
  const object of = members(value);
  read(of, "score", one.score);
  read(of, "kl", one.kl);
  read(of, "reward", one.reward);
  read(of, "response_tokens", one.response_tokens);
}

template <typename Value>
void read(const element& value, Named<Value>& named) {
  if (value.is_null()) return;
  const object of = members(value);
  named.reserve(of.size());
  for (const auto& [name, inner] : of) read(inner, named[name]);
}

template <typename Value>
void read(const element& value, std::vector<Value>& list) {
  if (value.is_null()) return;
  array found;
  if (value.get(found) != SUCCESS) refuse(value, "list");
  list.reserve(found.size());
  for (const element inner : found) read(inner, list.emplace_back());
}

template <typename Value>
void read(const element& value, HeapList<Value>& list) {
  std::vector<Value> items;
  read(value, items);
  list = std::move(items);
}

void read(const element& value, std::shared_ptr<const OutOfMemory>& where) {
  object of;
  if (value.get(of) != SUCCESS) return;
  OutOfMemory moment;
  read(of, "during", moment.during);
  read(of, "phase", moment.phase);
  read(of, "memory", moment.memory);
  read(of, "grew_last", moment.grew_last);
  read(of, "component_bytes", moment.components);
  if (of["tried_bytes"].error() == SUCCESS) {
    Refusal& refusal = moment.refusal.emplace();
    read(of, "tried_bytes", refusal.tried);
    read(value, refusal.live);
    read(of, "free_bytes", refusal.free);
    read(of, "total_bytes", refusal.total);
  }
  where = std::make_shared<const OutOfMemory>(std::move(moment));
}

void read(const element& value, HeapOptional<Watched>& watched) {
  object of;
  if (value.get(of) != SUCCESS) return;
  read(of, "after_steps", watched.emplace().after_steps);
  read(of, "growth", watched->growth);
}

// Milliseconds: no run takes a negative time, or ten thousand years.
template <typename Times>
void read_times(const element& value, Times& times) {
  constexpr double kMost = 1e15;
  read(value, times);
  for (const double time : times) {
    if (time < 0 || time > kMost) refuse(value, "list of times in milliseconds");
  }
}

void read(const element& value, HeapOptional<GenerationFigures>& times) {
  object of;
  if (value.get(of) != SUCCESS) return;
  read(of, "prompt_tokens", times.emplace().prompt_tokens);
  read(of, "decoded_tokens", times->decoded_tokens);
  read(of, "graph_pool_bytes", times->graph_pool_bytes);
  element list;
  if (of["prefill_ms"].get(list) == SUCCESS) read_times(list, times->prefill_ms);
  if (of["decode_ms"].get(list) == SUCCESS) read_times(list, times->decode_ms);
}

void read(const element& value, HeapOptional<PpoFigures>& figures) {
  object of;
  if (value.get(of) != SUCCESS) return;
  figures.emplace();
  element setup;
  if (of["setup"].get(setup) == SUCCESS) {
    figures->setup = nlohmann::json::parse(std::string(simdjson::minify(setup)));
  }
  read(of, "phases", figures->phases);
  read(of, "of_warm_up", figures->of_warm_up);
  read(of, "packing", figures->packing);
  read(of, "iterations", figures->iterations);
}

void read(const element& value, MemorySpace& space) {
  space = parse_word<MemorySpace>("space", text(value));
}

// A field, and what it has before anything is read: most of what is read is that.
struct KnownField {
  const Field* field = nullptr;
  std::string initial;
  std::optional<double> number;  // of an integer below 2^53 and of a fraction
};

std::unordered_map<std::string_view, KnownField> known_fields() {
  std::unordered_map<std::string_view, KnownField> known;
  for (const Field& field : fields()) {
    KnownField& row = known[field.name];
    row = {&field, field.get(RunSpec{}), std::nullopt};
    if (field.numeric()) row.number = std::stod(row.initial);
  }
  return known;
}

void read(const element& value, RunSpec& spec) {
  static const auto kKnown = known_fields();
  std::string number;
  if (members(value).size() == 0) refuse(value, "settings of a run");
  for (const auto& [name, inner] : members(value)) {
    const auto found = kKnown.find(name);
    if (found == kKnown.end()) continue;
    double figure = 0;
    if (found->second.number && inner.get(figure) == SUCCESS && figure == *found->second.number) {
      continue;
    }
    std::string_view words;
    if (inner.get(words) != SUCCESS) words = number = simdjson::minify(inner);
    if (words != found->second.initial) found->second.field->set(spec, words);
  }
}

// What stands under a key of a row.
struct Key {
  Keep least;  // at which it is read
  void (*read)(const element& value, Record& record);
};

template <auto kMember>
Key key(Keep least = Keep::kPeaks) {
  return {least, [](const element& value, Record& record) { read(value, record.*kMember); }};
}

const std::unordered_map<std::string_view, Key>& keys() {
  using R = Record;
  static const std::unordered_map<std::string_view, Key> kKeys = {
      {"spec", key<&R::spec>()},
      {"status", key<&R::status>()},
      {"reason", key<&R::reason>()},
      {"out_of_memory", key<&R::out_of_memory>(Keep::kWhole)},
      {"space", key<&R::space>()},
      {"spaces", key<&R::spaces>(Keep::kWhole)},
      {"phases", key<&R::phases>(Keep::kWhole)},
      {"phase_order", key<&R::phase_order>(Keep::kWhole)},
      {"phase_runs", key<&R::phase_runs>(Keep::kWhole)},
      {"peak_phase", key<&R::peak_phase>()},
      {"categories_at_peak_bytes", key<&R::categories_at_peak>(Keep::kFigures)},
      {"category_peak_bytes", key<&R::category_peaks>(Keep::kFigures)},
      {"recorded_peak", key<&R::recorded_peak>()},
      {"residual_bytes_per_block", key<&R::residual_bytes_per_block>()},
      {"residual_tensors_per_block", key<&R::residual_tensors_per_block>()},
      {"residual_blocks", key<&R::residual_blocks>(Keep::kWhole)},
      {"ranks", key<&R::ranks>(Keep::kWhole)},
      {"saved_bytes", key<&R::saved_bytes>()},
      {"host_traffic_bytes", key<&R::host_traffic>(Keep::kFigures)},
      {"recomputed_bytes", key<&R::recomputed_bytes>()},
      {"watched", key<&R::watched>(Keep::kWhole)},
      {"generation", key<&R::generation>(Keep::kWhole)},
      {"ppo", key<&R::ppo>(Keep::kWhole)},
      {"predicted", key<&R::predicted>(Keep::kFigures)},
      {"step_ms",
       {Keep::kPeaks,
        [](const element& value, Record& record) { read_times(value, record.step_ms); }}},
      {"losses", key<&R::losses>(Keep::kWhole)},
      {"trace_truncated", key<&R::trace_truncated>(Keep::kWhole)},
      {"trace_events", key<&R::trace_events>(Keep::kWhole)},
      {"notes", key<&R::notes>(Keep::kWhole)}};
  return kKeys;
}

int64_t checked_version(const RowElements& row) {
  const int64_t version = integer(*row.schema_version);
  if (version <= Record::kSchemaVersion) return version;
  throw std::invalid_argument("Record of schema version " + std::to_string(version) +
                              "; this program reads up to " +
                              std::to_string(Record::kSchemaVersion));
}

// Version 1 does not say it: it knew one memory, the device's.
MemorySpace space_by_device(const RowElements& row) {
  std::string_view device;
  const bool has_environment = row.environment && row.environment->is_object();
  const element& holder = has_environment ? *row.environment : *row.spec;
  const bool says = holder["device"].get(device) == SUCCESS;
  return says && device == "cpu" ? MemorySpace::kHost : MemorySpace::kDevice;
}

}  // namespace

RowElements elements_of(const object& row) {
  RowElements found{.members = row};
  for (const auto& [name, value] : row) {
    for (const auto& [asked, element] : {std::pair{"schema_version"sv, &found.schema_version},
                                         {"status"sv, &found.status},
                                         {"spec"sv, &found.spec},
                                         {"environment"sv, &found.environment}}) {
      if (name == asked && !*element) *element = value;
    }
  }
  return found;
}

void read_elements(const RowElements& row, Keep keep, Record& record) {
  const int64_t version = checked_version(row);
  record.space = space_by_device(row);
  for (const auto& [name, value] : row.members) {
    const auto found = keys().find(name);
    if (found == keys().end() || keep < found->second.least) continue;
    try {
      found->second.read(value, record);
    } catch (const UsageError&) {
      throw;  // it names the setting
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(name) + ": " + error.what());
    }
  }
  // Up to version 2 "flash" was any kernel of scaled_dot_product_attention that libtorch chose.
  Attention& attention = record.spec.attention;
  if (version <= 2 && attention == Attention::kFlash) attention = Attention::kSdpa;
  element peak;
  if (row.members["peak_allocated_bytes"].get(peak) == SUCCESS && !peak.is_null()) {
    read_peak(row.members, record.peak.emplace());
  }
}

}  // namespace headroom
