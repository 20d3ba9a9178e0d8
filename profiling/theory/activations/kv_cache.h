// The cache of generation. No torch here.
#pragma once

#include "model/kv_cache/kv_cache_shape.h"
#include "profiling/theory/row_builder.h"

namespace headroom {

inline constexpr const char* kKvCacheRows = "kv cache";

// The type of its codes. FP8 is stored as its bits (model/kv_cache/kv_cache.cpp), of the same size.
DType dtype_of(KvCacheType type);

// Codes, and scales if there are any: model/kv_cache/kv_cache_shape.h, counted tensor by tensor.
void add_kv_cache_rows(RowBuilder& sheet);

}  // namespace headroom
