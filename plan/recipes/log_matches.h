// Words that a serving engine's log holds. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

// The first group of each match.
std::vector<std::string> all_of(const std::string& log, const char* pattern);

// The first match's groups, or empty ones.
std::vector<std::string> first_groups(const std::string& log, const char* pattern);

// Tokens of the prompt and of the answer of the request that a recipe ran, or empty ones.
std::vector<std::string> request_of(const std::string& log);

}  // namespace headroom
