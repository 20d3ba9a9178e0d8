// JSON on one line. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// Without a newline at the end. Invalid UTF-8 (a file name, an error message) is replaced, not
// refused.
inline std::string json_line(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace headroom
