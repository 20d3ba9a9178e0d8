#include "virtual_gpu/nvml/host.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "virtual_gpu/device/machine.h"

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
    for (int i = 0; i < cards_of_machine(); ++i) host.cards.push_back({i});
  } catch (const std::invalid_argument&) {
    host.cards.clear();  // the first CUDA call names the fault
  }
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
