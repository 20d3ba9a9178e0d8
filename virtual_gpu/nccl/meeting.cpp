#include "virtual_gpu/nccl/meeting.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace virtual_gpu {

std::optional<std::vector<std::string>> meet(const std::string& what, int rank, int size,
                                             const std::string& word,
                                             const std::function<bool()>& gives_up) {
  if (size == 1) return std::vector<std::string>{word};
  const char* prefix = std::getenv("HEADROOM_VIRTUAL_REPORT");
  if (prefix == nullptr || *prefix == '\0') return std::nullopt;
  const std::string stem =
      std::string(prefix) + ".meet." + std::to_string(std::hash<std::string>()(what)) + ".";
  const std::string mine = stem + std::to_string(rank);
  if (!(std::ofstream(mine + ".part") << word << '\n')) return std::nullopt;
  if (std::rename((mine + ".part").c_str(), mine.c_str()) != 0) return std::nullopt;
  std::vector<std::string> words(static_cast<size_t>(size));
  for (int other = 0; other < size; ++other) {
    std::string& theirs = words[static_cast<size_t>(other)];
    while (!(std::ifstream(stem + std::to_string(other)) >> theirs)) {
      if (gives_up()) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return words;
}

}  // namespace virtual_gpu
