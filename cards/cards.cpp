#include "cards/cards.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "cards/cards_file.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return result;
}

// On such a host a new region needs no more free addresses than its own length: Note [Placement].
bool is_linux_before_6_7(const std::string& version) {
  if (version.empty()) return false;
  char* dot = nullptr;
  const long major = std::strtol(version.c_str(), &dot, 10);
  const long minor = std::strtol(dot + 1, nullptr, 10);
  return std::pair(major, minor) < std::pair(6L, 7L);
}

// "a100" suggests "a100-40gb", despite many edits between them.
std::vector<std::string> near_names(const std::string& typed,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> near;
  std::copy_if(names.begin(), names.end(), std::back_inserter(near), [&](const auto& name) {
    return !typed.empty() && lower(name).find(typed) != std::string::npos;
  });
  if (!near.empty()) return near;
  const std::string nearest = nearest_name(typed, names);
  return nearest.empty() ? near : std::vector<std::string>{nearest};
}

}  // namespace

const std::vector<Card>& cards() {
  static const std::vector<Card> kCards = [] {
    const char* path = std::getenv("HEADROOM_CARDS");
    return read_cards(path == nullptr ? "" : path);
  }();
  return kCards;
}

const Card& find_card(std::string_view name) {
  const std::string typed = lower(name);
  std::vector<std::string> names;
  for (const Card& card : cards()) {
    if (lower(card.name) == typed) return card;
    names.push_back(card.name);
  }
  const std::vector<std::string> near = near_names(typed, names);
  throw UsageError("card", name,
                   "is unknown; " + (near.empty() ? "" : "did you mean " + join(near) + "? ") +
                       "known: " + join(names),
                   "headroom cards " + (near.empty() ? names : near).front());
}

const Card* find_card_of_driver(std::string_view driver_name) {
  const auto card = std::find_if(cards().begin(), cards().end(), [&](const Card& known) {
    return known.driver_name == driver_name;
  });
  return card == cards().end() ? nullptr : &*card;
}

std::string stand_in_description(const Card& card) {
  std::string text = "name=" + card.driver_name + ";compute_capability=" + card.compute_capability;
  const auto add = [&](const char* key, int64_t value) {
    text.append(";").append(key).append("=").append(std::to_string(value));
  };
  add("multiprocessors", card.multiprocessors);
  add("total_bytes", card.total_bytes);
  add("context_bytes", card.context_bytes);
  add("threads_per_multiprocessor", card.limits.threads_per_multiprocessor);
  add("blocks_per_multiprocessor", card.limits.blocks_per_multiprocessor);
  add("shared_memory_per_block", card.limits.shared_memory_per_block);
  add("shared_memory_per_block_optin", card.limits.shared_memory_per_block_optin);
  add("shared_memory_per_multiprocessor", card.limits.shared_memory_per_multiprocessor);
  add("reserved_shared_memory_per_block", card.limits.reserved_shared_memory_per_block);
  add("registers_per_multiprocessor", card.limits.registers_per_multiprocessor);
  add("l2_bytes", card.l2_bytes);
  add("memory_bus_bits", card.memory_bus_bits);
  add("memory_clock_khz", card.memory_clock_khz);
  add("clock_khz", card.clock_khz);
  add("nvlink_channels", card.nvlink_channels);
  if (is_linux_before_6_7(card.host_linux)) add("fills_gaps_exactly", 1);
  return text;
}

}  // namespace headroom
