// The snapshot of each process of a dry run. No torch here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom {

// "run.pickle" as "run.123.pickle": each process writes its own, because a program may start
// others.
inline std::string snapshot_of_process(const std::string& file, int64_t pid) {
  const std::filesystem::path path(file);
  std::filesystem::path stem = path;
  stem.replace_extension();
  return stem.string() + "." + std::to_string(pid) + path.extension().string();
}

}  // namespace headroom
