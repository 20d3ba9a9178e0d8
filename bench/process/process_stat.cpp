#include "bench/process/process_stat.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace headroom {

std::optional<pid_t> parent_of_running(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = text.rfind(") ");  // a name may contain anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 2));
  char state = 'X';
  pid_t parent = 0;
  rest >> state >> parent;
  return state == 'Z' || state == 'X' ? std::nullopt : std::optional(parent);
}

}  // namespace headroom
