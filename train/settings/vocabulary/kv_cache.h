// Values of --kv-cache and --kv-cache-dtype. No torch here.
#pragma once

#include "model/kv_cache/kv_cache_shape.h"
#include "text/enum_words.h"

namespace headroom {

const EnumWords<KvCacheForm>& words_of(KvCacheForm);

// kAuto is the type of the products.
enum class KvCacheTypeWord { kAuto, kFp32, kBf16, kFp16, kFp8, kInt8 };
const EnumWords<KvCacheTypeWord>& words_of(KvCacheTypeWord);

}  // namespace headroom
