#include "plan/recipes/log_matches.h"

#include <regex>

namespace headroom {

std::vector<std::string> all_of(const std::string& log, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(log.begin(), log.end(), regex), end; it != end; ++it) {
    found.push_back((*it)[1].str());
  }
  return found;
}

std::vector<std::string> first_groups(const std::string& log, const char* pattern) {
  const std::regex regex(pattern);
  std::smatch match;
  std::regex_search(log, match, regex);
  std::vector<std::string> groups;
  for (size_t i = 1; i <= regex.mark_count(); ++i) groups.push_back(match[i].str());
  return groups;
}

std::vector<std::string> request_of(const std::string& log) {
  return first_groups(log, R"(the request ended: (\d+) tokens of a prompt, (\d+) of an answer)");
}

}  // namespace headroom
