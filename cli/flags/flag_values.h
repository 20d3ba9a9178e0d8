// Values of flags, read and checked: whole numbers and words. No torch here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/flags.h"
#include "plan/cost/state_bytes.h"
#include "text/words.h"

namespace headroom {

inline constexpr int64_t kMostOfAnything = int64_t{1} << 40;

// `otherwise` where the flag was not given. Throws UsageError.
int64_t integer(const Arguments& arguments, const char* name, int64_t otherwise,
                int64_t minimum = 1, int64_t maximum = kMostOfAnything);

// The value of the word that was typed. Throws UsageError with the nearest word and all of them.
template <typename Value>
Value choice(const Arguments& arguments, const char* name, Value otherwise,
             const std::vector<std::pair<std::string, Value>>& words) {
  if (!arguments.has(name)) return otherwise;
  const std::string flag = "--" + std::string(name);
  std::vector<std::string> allowed;
  allowed.reserve(words.size());
  for (const auto& [word, value] : words) allowed.push_back(word);
  const std::string typed = arguments.get(name);
  check_name(flag, typed, allowed, flag + " " + allowed.front());
  return std::find_if(words.begin(), words.end(),
                      [&](const auto& entry) { return entry.first == typed; })
      ->second;
}

// The types of a key/value cache, for choice().
std::vector<std::pair<std::string, CacheType>> cache_type_words();

}  // namespace headroom
