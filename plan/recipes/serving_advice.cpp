#include "plan/recipes/serving_advice.h"

#include <regex>

#include "cards/cards.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// GiB that vLLM lost outside torch while it profiled, one process on a real card: on an RTX 4090
// and on an H100 (docs/programs/serve.md#memory-outside-torch).
constexpr double kLeastOutside = 0.09;
constexpr double kMostOutside = 0.27;

std::string number_after(const std::string& refusal, const char* pattern) {
  std::smatch match;
  return std::regex_search(refusal, match, std::regex(pattern)) ? match[1].str() : "";
}

// "9.0" is 90, as vLLM counts it.
int capability_of(const Card& card) {
  const size_t point = card.compute_capability.find('.');
  return 10 * std::stoi(card.compute_capability.substr(0, point)) +
         std::stoi(card.compute_capability.substr(point + 1));
}

std::string cards_with(int capability) {
  std::vector<std::string> names;
  for (const Card& card : cards()) {
    if (card.refused.empty() && capability_of(card) >= capability) names.push_back(card.name);
  }
  return join(names);
}

// The fewest cards, a power of two, whose share of 16-bit weights fits.
int64_t cards_for_weights(int64_t parameters, double utilization, int64_t card_bytes) {
  constexpr int64_t kMostOfHost = 16;
  const double share = utilization * static_cast<double>(card_bytes);
  for (int64_t count = 1; count <= kMostOfHost; count *= 2) {
    if (2.0 * static_cast<double>(parameters) / static_cast<double>(count) < share) return count;
  }
  return 0;
}

}  // namespace

std::string what_would_work(const std::string& refusal, const Serving& serving, int64_t parameters,
                            int64_t card_bytes) {
  const std::string length = number_after(refusal, R"(estimated maximum model length is (\d+))");
  if (!length.empty() && length != "0") return "--max-len " + length;
  const std::string capability = number_after(refusal, R"([Mm]inimum capability: (\d+))");
  if (!capability.empty()) {
    const std::string names = cards_with(std::stoi(capability));
    if (!names.empty()) return "--card with one of " + names;
  }
  if (!is_about_memory(refusal)) return "";
  const double part = serving.utilization > 0 ? serving.utilization : 0.9;
  const int64_t cards = cards_for_weights(parameters, part, card_bytes);
  const int64_t has = serving.cards();
  if (parameters > 0 && cards > has) return "--tensor-parallel " + std::to_string(cards);
  return serving.eager ? "a larger --utilization, or more cards"
                       : "--eager, a larger --utilization, or more cards";
}

std::string not_counted(const EngineMemory& memory) {
  const std::optional<double> tokens = engine_number(memory.tokens);
  const std::optional<double> cache = engine_number(memory.cache_gib);
  if (!tokens || !cache || *cache <= 0) return "";
  const auto fewer = [&](double gib) {
    return grouped(static_cast<int64_t>(gib / *cache * *tokens));
  };
  return "not counted: kernels and libraries took " + shortest_text(kLeastOutside) + " to " +
         shortest_text(kMostOutside) + " GiB outside torch on real cards, " + fewer(kLeastOutside) +
         " to " + fewer(kMostOutside) + " tokens of this cache";
}

}  // namespace headroom
