// The JSON Schema of a Record, made from the lists that write and read it. No torch here.
#pragma once

#include <nlohmann/json.hpp>

namespace headroom {

// JSON Schema, draft 2020-12. Valid are the Records of every version that readers take, and
// excerpts of them: the keys without which a line is no Record are required. Readers ignore unknown
// keys.
nlohmann::ordered_json record_schema();

}  // namespace headroom
