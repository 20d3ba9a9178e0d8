#include "virtual_gpu/device/card.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace virtual_gpu {
namespace {

[[noreturn]] void refuse(std::string_view key, std::string_view value, const char* wanted) {
  throw std::invalid_argument("card description: " + std::string(key) + "='" + std::string(value) +
                              "' is not " + wanted);
}

template <typename Number>
void read(std::string_view key, std::string_view value, Number& number) {
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || rest != end || number < 0) refuse(key, value, "a whole number");
}

void read_capability(std::string_view value, Card& card) {
  const size_t dot = value.find('.');
  if (dot == std::string_view::npos) refuse("compute_capability", value, "like 9.0");
  read("compute_capability", value.substr(0, dot), card.major);
  read("compute_capability", value.substr(dot + 1), card.minor);
}

void read_entry(std::string_view key, std::string_view value, Card& card) {
  if (key == "name") {
    card.name = value;
  } else if (key == "compute_capability") {
    read_capability(value, card);
  } else if (key == "multiprocessors") {
    read(key, value, card.multiprocessors);
  } else if (key == "total_bytes") {
    read(key, value, card.total_bytes);
  } else if (key == "context_bytes") {
    read(key, value, card.context_bytes);
  } else if (key == "threads_per_multiprocessor") {
    read(key, value, card.threads_per_multiprocessor);
  } else if (key == "blocks_per_multiprocessor") {
    read(key, value, card.blocks_per_multiprocessor);
  } else if (key == "shared_memory_per_block") {
    read(key, value, card.shared_memory_per_block);
  } else if (key == "shared_memory_per_block_optin") {
    read(key, value, card.shared_memory_per_block_optin);
  } else if (key == "shared_memory_per_multiprocessor") {
    read(key, value, card.shared_memory_per_multiprocessor);
  } else if (key == "reserved_shared_memory_per_block") {
    read(key, value, card.reserved_shared_memory_per_block);
  } else if (key == "registers_per_multiprocessor") {
    read(key, value, card.registers_per_multiprocessor);
  } else if (key == "l2_bytes") {
    read(key, value, card.l2_bytes);
  } else if (key == "memory_bus_bits") {
    read(key, value, card.memory_bus_bits);
  } else if (key == "memory_clock_khz") {
    read(key, value, card.memory_clock_khz);
  } else if (key == "clock_khz") {
    read(key, value, card.clock_khz);
  } else if (key == "fills_gaps_exactly") {
    read(key, value, card.fills_gaps_exactly);
  } else if (key == "nvlink_channels") {
    read(key, value, card.nvlink_channels);
  }
  // An unknown key of a newer parent is no error.
}

}  // namespace

Card parse_card(std::string_view text) {
  Card card;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) refuse(entry, "", "key=value");
    read_entry(entry.substr(0, equals), entry.substr(equals + 1), card);
  }
  if (card.name.empty()) refuse("name", "", "given");
  if (card.major == 0) refuse("compute_capability", "", "given");
  if (card.multiprocessors == 0) refuse("multiprocessors", "", "given");
  if (card.total_bytes <= card.context_bytes) refuse("total_bytes", "", "beyond context_bytes");
  return card;
}

}  // namespace virtual_gpu
