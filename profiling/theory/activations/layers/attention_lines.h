// The products in model/attention.cpp that save q, k and v. No torch here.
#pragma once

#include <string_view>

namespace headroom {

inline constexpr std::string_view kScoresProduct =
    "model/attention.cpp eager_attention: einsum bhsk,bhtk->bhst";
inline constexpr std::string_view kFusedAttention =
    "model/attention.cpp sdpa_attention: scaled_dot_product_attention";

}  // namespace headroom
