// Parses the values typed for a setting. No torch here.
#pragma once

#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// One value, or the values of a list. A value's options stay with it: "virtual:h200,bytes=80GiB"
// and "int8:block=32,min=1MiB" are one value each. Throws UsageError on an empty element.
std::vector<std::string> values_of(const Field& field, const std::string& text);

}  // namespace headroom
