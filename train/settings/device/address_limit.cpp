#include "train/settings/device/address_limit.h"

#include <sys/resource.h>

#include <cstdint>

#include "text/quantity.h"

namespace headroom {

std::string address_limit_in_words() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return "ulimit -v allows this process " + format_bytes(static_cast<int64_t>(limit.rlim_cur)) +
         " of addresses";
}

}  // namespace headroom
