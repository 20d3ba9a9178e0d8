#include "profiling/theory/compute_capability.h"

#include "cards/cards.h"

namespace headroom {

std::string compute_capability(const RunSpec& spec) {
  constexpr const char* kUsual = "9.0";
  return is_virtual(spec) ? find_card(spec.device.card).compute_capability : kUsual;
}

}  // namespace headroom
