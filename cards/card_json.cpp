#include "cards/card_json.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using Json = nlohmann::json;

constexpr int64_t kInt = 2147483647;              // fields that CUDA keeps in an int
constexpr int64_t kBytes = 70368744177664;        // 2^46: a virtual GPU's addresses end there
constexpr int64_t kPerSecond = 1000000000000000;  // 1 PB/s
constexpr int64_t kMostChannels = 64;             // MAXCHANNELS of NCCL

// The integers of a card and of a compute capability: JSON key, member, range.
template <typename T>
struct Integer {
  const char* key;
  int64_t T::*member;
  int64_t minimum;
  int64_t maximum;
};
constexpr Integer<Card> kCardIntegers[] = {
    {"multiprocessors", &Card::multiprocessors, 1, kInt},
    {"total_bytes", &Card::total_bytes, 1, kBytes},
    {"memory_bus_bits", &Card::memory_bus_bits, 1, kInt},
    {"memory_clock_khz", &Card::memory_clock_khz, 1, kInt},
    {"clock_khz", &Card::clock_khz, 1, kInt},
    {"l2_bytes", &Card::l2_bytes, 1, kInt},
    {"memory_bandwidth", &Card::memory_bandwidth, 1, kPerSecond},
    {"host_bandwidth", &Card::host_bandwidth, 1, kPerSecond},
};
using Limits = MultiprocessorLimits;
constexpr Integer<Limits> kLimitIntegers[] = {
    {"threads_per_multiprocessor", &Limits::threads_per_multiprocessor, 1, kInt},
    {"blocks_per_multiprocessor", &Limits::blocks_per_multiprocessor, 1, kInt},
    {"shared_memory_per_block", &Limits::shared_memory_per_block, 1, kInt},
    {"shared_memory_per_block_optin", &Limits::shared_memory_per_block_optin, 1, kInt},
    {"shared_memory_per_multiprocessor", &Limits::shared_memory_per_multiprocessor, 1, kInt},
    {"reserved_shared_memory_per_block", &Limits::reserved_shared_memory_per_block, 0, kInt},
    {"registers_per_multiprocessor", &Limits::registers_per_multiprocessor, 1, kInt},
    {"fp32_lanes_per_multiprocessor", &Limits::fp32_lanes_per_multiprocessor, 1, kInt},
};

struct Rate {
  const char* key;
  std::optional<double> PeakRates::*member;
};
constexpr Rate kRates[] = {
    {"fp64", &PeakRates::fp64}, {"fp32", &PeakRates::fp32}, {"tf32", &PeakRates::tf32},
    {"fp16", &PeakRates::fp16}, {"bf16", &PeakRates::bf16}, {"fp8", &PeakRates::fp8},
    {"int8", &PeakRates::int8},
};

template <typename Table>
std::vector<std::string> keys_of(const Table& table, std::vector<std::string> more) {
  for (const auto& row : table) more.emplace_back(row.key);
  return more;
}

[[noreturn]] void refuse(const std::string& where, const std::string& field, const Json& value,
                         const std::string& allowed) {
  const std::string given = value.is_discarded()
                                ? "is missing"
                                : "is " + value.dump(-1, ' ', true, Json::error_handler_t::replace);
  throw UsageError(where + ": " + field + " " + given + "; allowed: " + allowed);
}

const Json& value_of(const Json& object, const char* key) {
  static const Json kMissing(Json::value_t::discarded);
  const auto found = object.find(key);
  return found == object.end() ? kMissing : *found;
}

int64_t integer(const std::string& where, const Json& object, const char* key, int64_t minimum,
                int64_t maximum) {
  const Json& value = value_of(object, key);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) &&
                    value.get<int64_t>() >= minimum && value.get<int64_t>() <= maximum;
  if (!fits) {
    refuse(where, key, value,
           "a whole number, " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return value.get<int64_t>();
}

std::string text(const std::string& where, const Json& object, const char* key,
                 const std::string& allowed, bool (*is_allowed)(const std::string&)) {
  const Json& value = value_of(object, key);
  if (!value.is_string() || !is_allowed(value.get<std::string>())) {
    refuse(where, key, value, allowed);
  }
  return value.get<std::string>();
}

bool is_any(const std::string&) { return true; }

bool is_version(const std::string& text) {  // "9.0"
  const size_t dot = text.find('.');
  const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  return dot != std::string::npos && dot > 0 && dot + 1 < text.size() &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dot), is_digit) &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(dot) + 1, text.end(), is_digit);
}

bool is_short_line(const std::string& text) {
  constexpr size_t kLongest = 255;
  return !text.empty() && text.size() <= kLongest &&
         std::none_of(text.begin(), text.end(),
                      [](unsigned char letter) { return std::iscntrl(letter) != 0; });
}

// Valid in stand_in_description() and in cudaDeviceProp::name.
bool is_driver_name(const std::string& name) {
  return is_short_line(name) && name.find_first_of(";=") == std::string::npos;
}

bool is_card_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '.' || letter == '_';
  });
}

Limits limits_from(const std::string& where, const Json& all, const std::string& capability) {
  std::vector<std::string> known;
  for (const auto& [name, unused] : all.items()) known.push_back(name);
  const Json& json = value_of(all, capability.c_str());
  if (!json.is_object()) {
    throw UsageError(where + ": compute_capability '" + capability +
                     "' has no entry in compute_capabilities; known: " + join(known));
  }
  const std::string here = where + ": compute_capabilities " + capability;
  refuse_unknown_keys(here, json, keys_of(kLimitIntegers, {"source"}));
  Limits limits;
  for (const auto& [key, member, minimum, maximum] : kLimitIntegers) {
    limits.*member = integer(here, json, key, minimum, maximum);
  }
  limits.source = text(here, json, "source", "a text", is_any);
  return limits;
}

PeakRates rates_from(const std::string& where, const Json& card) {
  const Json& json = value_of(card, "peak_tflops");
  if (!json.is_object())
    refuse(where, "peak_tflops", json, "an object of fp64, fp32, ... in TFLOP/s");
  refuse_unknown_keys(where + ": peak_tflops", json, keys_of(kRates, {}));
  PeakRates rates;
  for (const auto& [key, member] : kRates) {
    const Json& value = value_of(json, key);
    if (value.is_discarded() || value.is_null()) continue;
    if (!value.is_number() || value.get<double>() <= 0) {
      refuse(where, std::string("peak_tflops.") + key, value, "a number above 0, or null");
    }
    rates.*member = value.get<double>();
  }
  return rates;
}

// The card's own context, or the document's rule: see "about" in cards.json.
void read_context(const std::string& where, const Json& json, const Json& document, Card& card) {
  const Json& context = value_of(json, "context");
  if (context.is_discarded()) {
    const Json& rule = value_of(document, "context_rule");
    const std::string here = where + ": context_rule";
    refuse_unknown_keys(here, rule, {"bytes_per_thread", "source"});
    card.context_bytes = integer(here, rule, "bytes_per_thread", 0, kInt) * card.multiprocessors *
                         card.limits.threads_per_multiprocessor;
    card.sources["context"] = text(here, rule, "source", "a text", is_any);
  } else {
    if (!context.is_object()) refuse(where, "context", context, "an object of bytes, kind, source");
    const std::string here = where + ": context";
    refuse_unknown_keys(here, context, {"bytes", "kind", "source"});
    card.context_bytes = integer(here, context, "bytes", 0, kBytes);
    card.context_measured =
        text(here, context, "kind", "\"measured\" or \"assumed\"", [](const std::string& kind) {
          return kind == "measured" || kind == "assumed";
        }) == "measured";
    card.sources["context"] = text(here, context, "source", "a text", is_any);
  }
  if (card.context_bytes >= card.total_bytes) {
    throw UsageError(where + ": its context of " + std::to_string(card.context_bytes) +
                     " bytes leaves nothing of total_bytes " + std::to_string(card.total_bytes));
  }
}

void read_notes(const std::string& where, const Json& json, Card& card) {
  if (json.contains("refused")) card.refused = text(where, json, "refused", "a text", is_any);
  const Json& assumed = value_of(json, "assumed");
  if (!assumed.is_discarded()) {
    if (!assumed.is_array()) refuse(where, "assumed", assumed, "a list of field names");
    for (const Json& field : assumed) {
      if (!field.is_string()) refuse(where, "assumed", field, "a list of field names");
      card.assumed.push_back(field.get<std::string>());
    }
  }
  const Json& sources = value_of(json, "sources");
  if (!sources.is_object()) refuse(where, "sources", sources, "an object of texts");
  const std::string here = where + ": sources";
  for (const char* key : kSourceKeys) {
    card.sources[key] = text(here, sources, key, "a text", is_any);
  }
  refuse_unknown_keys(here, sources, {std::begin(kSourceKeys), std::end(kSourceKeys)});
}

}  // namespace

void refuse_unknown_keys(const std::string& where, const Json& object,
                         const std::vector<std::string>& known) {
  const auto items = object.items();
  const auto unknown = std::find_if(
      items.begin(), items.end(), [&](const auto& item) { return !is_one_of(item.key(), known); });
  if (unknown == items.end()) return;
  const std::string near = nearest_name(unknown.key(), known);
  throw UsageError(where + ": '" + unknown.key() + "' is no field; " +
                   (near.empty() ? "known: " + join(known) : "did you mean " + near + "?"));
}

Card card_from_json(const std::string& where, const Json& json, const Json& document) {
  refuse_unknown_keys(
      where, json,
      keys_of(kCardIntegers,
              {"name", "driver_name", "compute_capability", "host_link", "host_linux",
               "nvlink_channels", "peak_tflops", "context", "refused", "assumed", "sources"}));
  Card card;
  card.name = text(where, json, "name", "letters, digits, '-', '.', '_'", is_card_name);
  card.driver_name =
      text(where, json, "driver_name",
           "1 to 255 characters, none of them ';', '=' or a control character", is_driver_name);
  card.compute_capability =
      text(where, json, "compute_capability", "a text such as \"9.0\"", is_version);
  card.host_link =
      text(where, json, "host_link", "1 to 255 characters such as \"PCIe 4.0 x16\"", is_short_line);
  for (const auto& [key, member, minimum, maximum] : kCardIntegers) {
    card.*member = integer(where, json, key, minimum, maximum);
  }
  if (json.contains("host_linux")) {
    card.host_linux = text(where, json, "host_linux", "a text such as \"5.15\"", is_version);
  }
  if (json.contains("nvlink_channels")) {
    card.nvlink_channels = integer(where, json, "nvlink_channels", 0, kMostChannels);
  }
  card.limits =
      limits_from(where, value_of(document, "compute_capabilities"), card.compute_capability);
  card.peak_tflops = rates_from(where, json);
  read_notes(where, json, card);
  read_context(where, json, document, card);
  return card;
}

nlohmann::ordered_json to_json(const MultiprocessorLimits& limits) {
  nlohmann::ordered_json json;
  for (const auto& row : kLimitIntegers) json[row.key] = limits.*row.member;
  json["source"] = limits.source;
  return json;
}

nlohmann::ordered_json to_json(const Card& card) {
  nlohmann::ordered_json json = {{"name", card.name},
                                 {"driver_name", card.driver_name},
                                 {"compute_capability", card.compute_capability},
                                 {"host_link", card.host_link}};
  for (const auto& row : kCardIntegers) json[row.key] = card.*row.member;
  if (!card.host_linux.empty()) json["host_linux"] = card.host_linux;
  json["nvlink_channels"] = card.nvlink_channels;
  for (const auto& row : kRates) {
    const std::optional<double>& rate = card.peak_tflops.*row.member;
    json["peak_tflops"][row.key] = rate ? nlohmann::ordered_json(*rate) : nullptr;
  }
  json["context"] = {{"bytes", card.context_bytes},
                     {"kind", card.context_measured ? "measured" : "assumed"},
                     {"source", card.sources.at("context")}};
  if (!card.refused.empty()) json["refused"] = card.refused;
  json["assumed"] = card.assumed;
  for (const auto& [key, source] : card.sources) {
    if (key != "context") json["sources"][key] = source;
  }
  return json;
}

}  // namespace headroom
