#include "plan/recipes/serving_advice.h"

#include <regex>

#include "cards/cards.h"
#include "text/words.h"

namespace headroom {
namespace {

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
  const int64_t cards = cards_for_weights(parameters, serving.utilization, card_bytes);
  const int64_t has = serving.tensor_parallel * serving.pipeline_parallel;
  if (parameters > 0 && cards > has) return "--tensor-parallel " + std::to_string(cards);
  return serving.eager ? "a larger --utilization, or more cards"
                       : "--eager, a larger --utilization, or more cards";
}

}  // namespace headroom
