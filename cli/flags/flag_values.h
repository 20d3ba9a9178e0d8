// Reads and checks the values of flags: whole numbers and words. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "cli/flags/flags.h"
#include "text/enum_words.h"

namespace headroom {

inline constexpr int64_t kMostOfAnything = int64_t{1} << 40;

// `otherwise` if the flag was not given. Throws UsageError.
int64_t integer(const Arguments& arguments, const char* name, int64_t otherwise,
                int64_t minimum = 1, int64_t maximum = kMostOfAnything);

// The value of the typed word. Throws UsageError with the nearest word and all of them.
template <typename Enum>
Enum choice(const Arguments& arguments, const std::string& name, Enum otherwise) {
  return arguments.has(name) ? parse_word<Enum>("--" + name, arguments.get(name)) : otherwise;
}

// "none, selective, full (default none)", for --help.
template <typename Enum>
std::string choices_with_default(Enum usual) {
  return join(choices_of<Enum>()) + " (default " + word_of(usual) + ")";
}

}  // namespace headroom
