#include "profiling/theory/activations/kv_cache.h"

#include "train/generate/rules.h"

namespace headroom {

DType dtype_of(KvCacheType type) {
  switch (type) {
    case KvCacheType::kFp32:
      return DType::kFp32;
    case KvCacheType::kBf16:
      return DType::kBf16;
    case KvCacheType::kFp16:
      return DType::kFp16;
    case KvCacheType::kFp8:
      return DType::kFp8;
    case KvCacheType::kInt8:
      break;
  }
  return DType::kInt8;
}

void add_kv_cache_rows(RowBuilder& sheet) {
  const KvCacheShape cache = kv_cache_shape(sheet.spec());
  const bool paged = cache.form == KvCacheForm::kPaged;
  const std::string shape = paged ? "L 2 E 16 G" : "L 2 W G J";
  const std::string condition =
      paged ? "L layers, keys and values, E blocks of 16 tokens, G key/value heads"
            : "L layers, keys and values, W sequences at once of J tokens, G key/value heads";
  sheet.begin(kKvCacheRows);
  sheet.add({.name = "codes",
             .shape = shape + " K",
             .dtype = dtype_of(cache.type),
             .source = "model/kv_cache/kv_cache.cpp KvCache",
             .condition = condition});
  if (!has_scales(cache.type)) return;
  sheet.add({.name = "scales",
             .shape = shape,
             .source = "model/kv_cache/kv_cache.cpp KvCache",
             .condition = "one for each token and head"});
}

}  // namespace headroom
