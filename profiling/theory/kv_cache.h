// The cache of --profile-type generate. No torch here.
#pragma once

#include "profiling/theory/sheet.h"

namespace headroom {

inline constexpr const char* kKvCacheRows = "kv cache";

// Codes, and scales where there are any: model/kv_cache_shape.h, counted tensor by tensor.
void add_kv_cache_rows(Sheet& sheet);

}  // namespace headroom
