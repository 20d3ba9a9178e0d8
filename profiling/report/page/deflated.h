// Data inside an HTML page: deflated, in base64. No torch here.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// zlib's format, which DecompressionStream("deflate") reads.
std::string deflated(std::string_view bytes);

// Only letters, digits, '+', '/' and '=': no text in it can end the element that holds it.
std::string base64(std::string_view bytes);

}  // namespace headroom
