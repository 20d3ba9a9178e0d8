// Measures how fast unchanged states are read from the disk and written back;
// studies/host/disk_bench.sh compares it with fio. No torch here.
//   headroom_disk_step DIRECTORY STATE_BYTES BLOCK_BYTES BUFFERS STEPS [threads]
// stdout: a line of JSON per step, {"bytes", "seconds"}; stderr: notes.
#include <chrono>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/json_line.h"
#include "text/quantity.h"
#include "train/offload/disk/disk_states.h"

namespace headroom {
namespace {

constexpr int64_t kMost = int64_t{1} << 50;

// Not reported: the first step creates the second file, which costs more.
constexpr int kWarmUps = 1;

int run(const std::vector<std::string>& words) {
  if (words.size() < 5) {
    throw UsageError(
        "headroom_disk_step: DIRECTORY STATE_BYTES BLOCK_BYTES BUFFERS STEPS [threads]");
  }
  const int64_t numbers = parse_integer("STATE_BYTES", words[1], 12, kMost) / 12;
  DiskStatesOptions options{
      .directory = words[0],
      .identity = "headroom_disk_step",
      .block_bytes = parse_integer("BLOCK_BYTES", words[2], 1, int64_t{1} << 30),
      .buffers = static_cast<int>(parse_integer("BUFFERS", words[3], 1, 1024)),
      .engine = words.size() > 5 ? DiskEngine::kThreads : DiskEngine::kUringOrThreads};
  const int64_t steps = parse_integer("STEPS", words[4], 1, 1000);
  DiskStates states(options, {{"states", numbers}});
  for (const std::string& note : states.notes()) fprintf(stderr, "%s\n", note.c_str());
  const DiskStates::Visit nothing = [](const StatesInMemory&) {};
  const std::vector<int> order = {0};
  if (states.steps_done() < 0) states.fill(nothing);
  for (int64_t step = -kWarmUps; step < steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    states.step(order, nothing);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (step < 0) continue;
    const nlohmann::json line = {{"bytes", 2 * states.layout().state_bytes()},
                                 {"seconds", took.count()}};
    printf("%s\n", json_line(line).c_str());
    fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  try {
    return headroom::run({argv + 1, argv + argc});
  } catch (const headroom::UsageError& error) {
    fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return 5;
  }
}
