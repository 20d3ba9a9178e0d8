#include "files/links.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <string_view>
#include <system_error>

namespace headroom {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit; beyond it opening fails with an error

// Follows one link; false if `path` is not a link.
bool step(std::string& path) {
  std::array<char, PATH_MAX> link{};
  const ssize_t length = readlink(path.c_str(), link.data(), link.size());
  if (length < 0 || static_cast<size_t>(length) == link.size()) return false;
  const std::string_view target(link.data(), static_cast<size_t>(length));
  // A relative link starts at its own directory.
  path.resize(target.starts_with('/') ? 0 : path.rfind('/') + 1);
  path += target;
  return true;
}

// 63 for "/dev/fd/63".
std::optional<int> descriptor_in(std::string_view path) {
  for (const auto& [name, descriptor] :
       {std::pair{"/dev/stdin", STDIN_FILENO}, std::pair{"/dev/stdout", STDOUT_FILENO},
        std::pair{"/dev/stderr", STDERR_FILENO}}) {
    if (path == name) return descriptor;
  }
  const std::string own = "/proc/" + std::to_string(getpid()) + "/fd/";
  for (const std::string_view folder :
       {std::string_view("/dev/fd/"), std::string_view("/proc/self/fd/"),
        std::string_view("/proc/thread-self/fd/"), std::string_view(own)}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int descriptor = -1;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), descriptor);
    const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
    if (is_number && descriptor >= 0) return descriptor;
  }
  return std::nullopt;
}

}  // namespace

std::string follow_links(std::string path) {
  for (int i = 0; i < kMaxLinks && step(path); ++i) {
  }
  return path;
}

std::string with_link_target(const std::string& path) {
  std::string target = path;
  return step(target) ? path + " (a link to " + follow_links(target) + ")" : path;
}

std::optional<int> named_descriptor(const std::string& path) {
  std::string target = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    const std::optional<int> descriptor = descriptor_in(target);
    if (descriptor) return fcntl(*descriptor, F_GETFD) < 0 ? std::nullopt : descriptor;
    if (!step(target)) break;
  }
  return std::nullopt;
}

}  // namespace headroom
