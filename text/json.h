// JSON, compiled once for all targets: this header is precompiled, and its one instance is in
// json.cpp.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
