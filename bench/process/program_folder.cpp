#include "bench/process/program_folder.h"

#include <unistd.h>

#include <array>
#include <climits>

namespace headroom {

std::string program_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return folder_above(std::string(path.data(), length < 0 ? 0 : static_cast<size_t>(length)));
}

std::string folder_above(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace headroom
