#include "virtual_gpu/nvml/host.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/device/visible.h"

namespace virtual_gpu::nvml {
namespace {

struct Host {
  Card card;
  std::vector<Handle> cards;
};

Host read_host() {
  Host host;
  const char* const text = std::getenv("HEADROOM_VIRTUAL_CARD");
  if (text == nullptr || *text == '\0') return host;
  try {
    host.card = parse_card(text);
  } catch (const std::invalid_argument&) {
    return host;  // the first CUDA call names the fault
  }
  const char* const count = std::getenv("HEADROOM_VIRTUAL_COUNT");
  const int cards = count == nullptr || *count == '\0' ? 1 : std::atoi(count);
  for (int i = 0; i < cards && i < Machine::kMostDevices; ++i) host.cards.push_back({i});
  return host;
}

// Never destroyed: programs ask in their exit handlers.
const Host& host() {
  static const Host* const kHost = new Host(read_host());
  return *kHost;
}

std::atomic<int> users{0};  // nvmlInit less nvmlShutdown

}  // namespace

int card_count() { return static_cast<int>(host().cards.size()); }
const Card& card() { return host().card; }

DeviceHandle handle_of(int ordinal) {
  if (ordinal < 0 || ordinal >= card_count()) return nullptr;
  return &host().cards[static_cast<size_t>(ordinal)];
}

Result check(DeviceHandle device) {
  if (!is_initialized()) return kUninitialized;
  const bool is_known = device != nullptr && device == handle_of(device->card);
  return is_known ? kSuccess : kInvalidArgument;
}

bool is_initialized() { return users.load() > 0; }
void initialize() { ++users; }
void shut_down() { --users; }

std::string uuid_text(int ordinal) {
  std::string text = "GPU";
  int byte = 0;
  for (const char value : uuid_of(ordinal)) {
    if (byte == 0 || byte == 4 || byte == 6 || byte == 8 || byte == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(value));
    text += digits;
    ++byte;
  }
  return text;
}

uint64_t used_here(int ordinal) {
  if (!Machine::is_of_this_process()) return 0;
  Machine& machine = Machine::get();
  for (int i = 0; i < machine.count(); ++i) {
    if (machine.card_of_host(i) != ordinal) continue;
    const Device& device = machine.device(i);
    return device.peak_bytes() == 0 ? 0 : device.used_bytes() + card().context_bytes;
  }
  return 0;
}

Result copy_text(const std::string& text, char* to, size_t length) {
  if (to == nullptr) return kInvalidArgument;
  if (length <= text.size()) return kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace virtual_gpu::nvml
