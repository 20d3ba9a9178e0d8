#include "virtual_gpu/device/visible.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <system_error>

namespace virtual_gpu {
namespace {

// -1 = none, or several.
int card_with_uuid(const std::string& beginning, int count) {
  int found = -1;
  for (int card = 0; card < count; ++card) {
    if (!uuid_text(card).starts_with(beginning)) continue;
    if (found >= 0) return -1;
    found = card;
  }
  return found;
}

int card_of(std::string word, int count) {
  word.erase(0, word.find_first_not_of(" \t"));
  if (word.starts_with("GPU-")) return card_with_uuid(word, count);
  int card = -1;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), card);
  return error == std::errc() && card >= 0 && card < count ? card : -1;
}

}  // namespace

std::array<char, 16> uuid_of(int card) {
  std::string text = std::to_string(card);
  text.insert(0, card < 10 ? "virtual-0" : "virtual-");
  std::array<char, 16> bytes{};
  text.copy(bytes.data(), bytes.size());
  return bytes;
}

std::string uuid_text(int card) {
  std::string text = "GPU";
  const std::array<char, 16> bytes = uuid_of(card);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(bytes[i]) / 16];
    text += kDigits[static_cast<unsigned char>(bytes[i]) % 16];
  }
  return text;
}

std::vector<int> visible_cards(const char* list, int count) {
  std::vector<int> cards;
  if (list == nullptr) {
    for (int card = 0; card < count; ++card) cards.push_back(card);
    return cards;
  }
  std::istringstream stream(list);
  std::string word;
  while (std::getline(stream, word, ',')) {
    const int card = card_of(word, count);
    if (card < 0) break;
    if (std::find(cards.begin(), cards.end(), card) != cards.end()) return {};
    cards.push_back(card);
  }
  return cards;
}

}  // namespace virtual_gpu
