// Every key of a Record's JSON, once: writing, reading and the check of docs/inside/record.md use
// these lists. No torch here.
#pragma once

#include <tuple>

#include "profiling/record/record_reader.h"

namespace headroom {

// kNotEmpty: the key is omitted if its value is empty (0, false, "", no items, null).
enum class When { kAlways, kNotEmpty };

// The valid range of a figure.
enum class Numbers {
  kNotNegative,  // bytes, counts; fractions are free
  kAny,
  kMilliseconds,  // 0 to kMostMilliseconds
};

// One key. If it is empty, the member's own keys stand in this object, with `prefix` in front.
template <typename Struct, typename Member>
struct JsonField {
  const char* key;
  Member Struct::*member;
  When when = When::kAlways;
  Keep least = Keep::kPeaks;  // of a Record: the least Keep to read it
  Numbers numbers = Numbers::kNotNegative;
  const char* prefix = "";

  constexpr bool is_beside() const { return *key == '\0'; }
};

template <typename Struct, typename Member>
constexpr JsonField<Struct, Member> field(const char* key, Member Struct::*member,
                                          When when = When::kAlways, Keep least = Keep::kPeaks) {
  return {key, member, when, least};
}
template <typename Struct, typename Member>
constexpr JsonField<Struct, Member> beside(const char* prefix, Member Struct::*member,
                                           When when = When::kAlways) {
  return {.key = "", .member = member, .when = when, .prefix = prefix};
}
template <typename Struct, typename Member>
constexpr JsonField<Struct, Member> times(const char* key, Member Struct::*member) {
  return {.key = key, .member = member, .numbers = Numbers::kMilliseconds};
}
template <typename Struct, typename Member>
constexpr JsonField<Struct, Member> change(const char* key, Member Struct::*member) {
  return {.key = key, .member = member, .numbers = Numbers::kAny};
}

// A struct whose JSON is an object has its list here.
template <typename Struct>
inline constexpr auto kFields = nullptr;
template <typename Struct>
concept HasFields = !std::same_as<decltype(kFields<Struct>), const std::nullptr_t>;

// Kinds of members.
template <typename>
inline constexpr bool kIsNamed = false;
template <typename Value>
inline constexpr bool kIsNamed<Named<Value>> = true;

template <typename Value>
concept MayBeAbsent = requires(const Value& value) {
  *value;
};
template <typename Value>
concept Sequence = requires(const Value& value) {
  value.size(), value[0];
};

template <>
inline constexpr auto kFields<MemoryBytes> =
    std::tuple{field("allocated_bytes", &MemoryBytes::allocated),
               field("reserved_bytes", &MemoryBytes::reserved),
               field("requested_bytes", &MemoryBytes::requested)};

template <>
inline constexpr auto kFields<SpaceFigures> =
    std::tuple{beside("peak_", &SpaceFigures::peak), field("phases", &SpaceFigures::phases),
               field("categories_at_peak_bytes", &SpaceFigures::categories_at_peak)};

template <>
inline constexpr auto kFields<BlockResidual> =
    std::tuple{field("index", &BlockResidual::index), field("bytes", &BlockResidual::bytes),
               field("tensors", &BlockResidual::tensors)};

template <>
inline constexpr auto kFields<Refusal> =
    std::tuple{field("tried_bytes", &Refusal::tried), beside("", &Refusal::live),
               field("free_bytes", &Refusal::free), field("total_bytes", &Refusal::total)};

template <>
inline constexpr auto kFields<OutOfMemory> =
    std::tuple{field("during", &OutOfMemory::during),
               field("phase", &OutOfMemory::phase),
               field("memory", &OutOfMemory::memory),
               field("grew_last", &OutOfMemory::grew_last, When::kNotEmpty),
               field("component_bytes", &OutOfMemory::components, When::kNotEmpty),
               beside("", &OutOfMemory::refusal, When::kNotEmpty)};

template <>
inline constexpr auto kFields<Growth> =
    std::tuple{change("bytes", &Growth::bytes), change("count", &Growth::count),
               field("phase", &Growth::phase), field("purpose", &Growth::purpose),
               field("stack", &Growth::stack)};

template <>
inline constexpr auto kFields<Watched> =
    std::tuple{field("after_steps", &Watched::after_steps), field("growth", &Watched::growth)};

template <>
inline constexpr auto kFields<GenerationFigures> =
    std::tuple{field("prompt_tokens", &GenerationFigures::prompt_tokens),
               field("decoded_tokens", &GenerationFigures::decoded_tokens),
               field("graph_pool_bytes", &GenerationFigures::graph_pool_bytes),
               times("prefill_ms", &GenerationFigures::prefill_ms),
               times("decode_ms", &GenerationFigures::decode_ms)};

template <>
inline constexpr auto kFields<PhaseComponents> = std::tuple{
    field("phase", &PhaseComponents::phase), field("requested_bytes", &PhaseComponents::requested),
    field("component_bytes", &PhaseComponents::components),
    field("instant_bytes", &PhaseComponents::instants)};

template <>
inline constexpr auto kFields<PackingFigures> = std::tuple{
    field("micro_batches", &PackingFigures::micro_batches),
    field("tokens", &PackingFigures::tokens), field("most_tokens", &PackingFigures::most_tokens)};

template <>
inline constexpr auto kFields<IterationFigures> =
    std::tuple{field("score", &IterationFigures::score), field("kl", &IterationFigures::kl),
               field("reward", &IterationFigures::reward),
               field("response_tokens", &IterationFigures::response_tokens)};

template <>
inline constexpr auto kFields<PpoFigures> = std::tuple{
    field("setup", &PpoFigures::setup), field("phases", &PpoFigures::phases),
    field("of_warm_up", &PpoFigures::of_warm_up, When::kNotEmpty),
    field("packing", &PpoFigures::packing), field("iterations", &PpoFigures::iterations)};

template <>
inline constexpr auto kFields<RankFigures> =
    std::tuple{field("rank", &RankFigures::rank),
               field("status", &RankFigures::status),
               field("reason", &RankFigures::reason),
               field("alike", &RankFigures::alike, When::kNotEmpty),
               beside("", &RankFigures::peak),
               field("predicted_bytes", &RankFigures::predicted_bytes, When::kNotEmpty),
               field("moved_bytes", &RankFigures::moved, When::kNotEmpty),
               field("moved_calls", &RankFigures::moved_calls, When::kNotEmpty),
               field("predicted_moved_bytes", &RankFigures::predicted_moved, When::kNotEmpty),
               field("phase_end_bytes", &RankFigures::phase_ends, When::kNotEmpty),
               field("nccl_bytes", &RankFigures::nccl_bytes, When::kNotEmpty)};

// All keys of a Record except schema_version, name (of the settings) and environment.
template <>
inline constexpr auto kFields<Record> = std::tuple{
    field("spec", &Record::spec),
    field("status", &Record::status),
    field("reason", &Record::reason),
    field("out_of_memory", &Record::out_of_memory, When::kAlways, Keep::kWhole),
    field("space", &Record::space),
    field("spaces", &Record::spaces, When::kAlways, Keep::kWhole),
    beside("peak_", &Record::peak),
    field("phases", &Record::phases, When::kAlways, Keep::kWhole),
    field("phase_order", &Record::phase_order, When::kAlways, Keep::kWhole),
    field("phase_runs", &Record::phase_runs, When::kAlways, Keep::kWhole),
    field("peak_phase", &Record::peak_phase),
    field("categories_at_peak_bytes", &Record::categories_at_peak, When::kAlways, Keep::kFigures),
    field("category_peak_bytes", &Record::category_peaks, When::kAlways, Keep::kFigures),
    field("recorded_peak", &Record::recorded_peak),
    field("residual_bytes_per_block", &Record::residual_bytes_per_block),
    field("residual_tensors_per_block", &Record::residual_tensors_per_block),
    field("residual_blocks", &Record::residual_blocks, When::kAlways, Keep::kWhole),
    field("ranks", &Record::ranks, When::kNotEmpty, Keep::kWhole),
    field("graph_pool_bytes", &Record::graph_pool_bytes, When::kNotEmpty),
    field("saved_bytes", &Record::saved_bytes),
    field("host_traffic_bytes", &Record::host_traffic, When::kNotEmpty, Keep::kFigures),
    field("recomputed_bytes", &Record::recomputed_bytes, When::kNotEmpty),
    field("watched", &Record::watched, When::kNotEmpty, Keep::kWhole),
    field("generation", &Record::generation, When::kNotEmpty, Keep::kWhole),
    field("ppo", &Record::ppo, When::kNotEmpty, Keep::kWhole),
    field("predicted", &Record::predicted, When::kAlways, Keep::kFigures),
    times("step_ms", &Record::step_ms),
    field("losses", &Record::losses, When::kAlways, Keep::kWhole),
    field("trace_truncated", &Record::trace_truncated, When::kAlways, Keep::kWhole),
    field("trace_events", &Record::trace_events, When::kAlways, Keep::kWhole),
    field("notes", &Record::notes, When::kAlways, Keep::kWhole)};

// Calls visit(field) for each field of a struct.
template <HasFields Struct, typename Visit>
constexpr void for_each_field(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, kFields<Struct>);
}

}  // namespace headroom
