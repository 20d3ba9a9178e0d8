#include "bench/dryrun/report/frames.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

namespace headroom {
namespace {

using nlohmann::json;

bool is_library(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  constexpr std::array kOthers = {"libtorch",   "libc10", "libc.so",  "libstdc++", "libgcc",
                                  "libpthread", "libcu",  "ld-linux", "libgomp",   "libheadroom"};
  return std::any_of(kOthers.begin(), kOthers.end(),
                     [&](const char* other) { return name.starts_with(other); });
}

}  // namespace

std::string own_frame(const json& frames) {
  for (const json& frame : frames) {
    const std::string library = frame.value("library", "");
    if (library.empty() || is_library(library)) continue;
    const std::string file = std::filesystem::path(library).filename().string();
    const std::string name = frame.value("name", "");
    std::array<char, 32> offset{};
    std::snprintf(offset.data(), offset.size(), "0x%llx",
                  static_cast<unsigned long long>(frame.value("offset", uint64_t{0})));
    std::string text = name.empty() ? file : name;
    return name.empty() ? text.append("+").append(offset.data())
                        : text.append(" (").append(file).append(")");
  }
  return "";
}

}  // namespace headroom
