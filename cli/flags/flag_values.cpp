#include "cli/flags/flag_values.h"

#include "text/quantity.h"

namespace headroom {

int64_t integer(const Arguments& arguments, const char* name, int64_t otherwise, int64_t minimum,
                int64_t maximum) {
  if (!arguments.has(name)) return otherwise;
  return parse_integer("--" + std::string(name), arguments.get(name), minimum, maximum);
}

}  // namespace headroom
