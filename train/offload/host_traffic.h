// Traffic over the host link. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

// In bytes.
struct HostTraffic {
  int64_t to_host = 0;
  int64_t to_card = 0;

  bool any() const { return to_host > 0 || to_card > 0; }
  HostTraffic operator+(const HostTraffic& more) const {
    return {to_host + more.to_host, to_card + more.to_card};
  }
  HostTraffic operator-(const HostTraffic& before) const {
    return {to_host - before.to_host, to_card - before.to_card};
  }
};

}  // namespace headroom
