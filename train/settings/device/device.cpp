#include "train/settings/device/device.h"

#include <cstdlib>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";
constexpr std::string_view kVirtualPrefix = "virtual:";
constexpr std::string_view kBytes = "bytes=";

Device parse_virtual(std::string_view text) {
  const std::string_view rest = text.substr(kVirtualPrefix.size());
  const size_t comma = rest.find(',');
  Device device{.kind = DeviceKind::kVirtual, .card = std::string(rest.substr(0, comma))};
  if (comma == std::string_view::npos) return device;
  const std::string_view option = rest.substr(comma + 1);
  if (!option.starts_with(kBytes) || option.size() == kBytes.size()) {
    throw UsageError("--device", text,
                     "has an unknown option; allowed after the card: bytes=SIZE, bytes=unlimited",
                     "--device virtual:h200,bytes=80GiB");
  }
  device.bytes = option.substr(kBytes.size());
  return device;
}

int64_t ordinal_of(std::string_view text) {
  try {
    return parse_integer("--device", text.substr(kCudaPrefix.size()), 0, 127);
  } catch (const UsageError&) {
    throw UsageError("--device", text, "names no card; allowed behind cuda: are 0 to 127",
                     "--device cuda:0");
  }
}

}  // namespace

Device parse_device(std::string_view text) {
  if (text.starts_with(kCudaPrefix)) {
    const int64_t ordinal = ordinal_of(text);
    return {.kind = DeviceKind::kCuda, .ordinal = static_cast<int>(ordinal)};
  }
  if (text.starts_with(kVirtualPrefix)) return parse_virtual(text);
  check_name("--device", text, {"auto", "cpu", "cuda", "cuda:N", "virtual:CARD"}, "--device cpu");
  if (text == "cpu") return {.kind = DeviceKind::kCpu};
  if (text == "cuda") return {.kind = DeviceKind::kCuda};
  return {};
}

std::string to_string(const Device& device) {
  switch (device.kind) {
    case DeviceKind::kAuto:
      return "auto";
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kCuda:
      return device.ordinal ? std::string(kCudaPrefix) + std::to_string(*device.ordinal) : "cuda";
    case DeviceKind::kVirtual:
      break;
  }
  return std::string(kVirtualPrefix) + device.card +
         (device.bytes.empty() ? "" : "," + std::string(kBytes) + device.bytes);
}

bool under_virtual_card() { return std::getenv("HEADROOM_VIRTUAL_CARD") != nullptr; }

}  // namespace headroom
