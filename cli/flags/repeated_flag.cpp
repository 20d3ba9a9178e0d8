#include "cli/flags/repeated_flag.h"

#include <utility>

namespace headroom {

std::vector<std::string> take_repeated(std::string_view flag, std::vector<char*>& words) {
  std::vector<std::string> values;
  std::vector<char*> rest;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == flag && i + 1 < words.size()) {
      values.emplace_back(words[++i]);
    } else if (word.starts_with(flag) && word.substr(flag.size()).starts_with("=")) {
      values.emplace_back(word.substr(flag.size() + 1));
    } else {
      rest.push_back(words[i]);
    }
  }
  words = std::move(rest);
  return values;
}

}  // namespace headroom
