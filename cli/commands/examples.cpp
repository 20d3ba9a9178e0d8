#include "cli/commands/examples.h"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

struct ExamplesOfCommand {
  const char* command;
  std::array<const char*, 2> lines;
};

constexpr auto kExamplesOfCommands = std::to_array<ExamplesOfCommand>({
    {"budget",
     {"headroom budget --model-size 7b --card h100-80gb",
      "headroom budget --model-size 70b --card h100-80gb --tp 2"}},
    {"cards", {"headroom cards", "headroom cards h200 rtx4090 --format md"}},
    {"compare",
     {"headroom compare before.jsonl after.jsonl --fail-on memory",
      "headroom compare before.pickle after.pickle"}},
    {"completion",
     {"eval \"$(headroom completion bash)\"", "headroom completion install ~/.local"}},
    {"doctor", {"headroom doctor", "headroom dryrun --card rtx4090 -- headroom doctor --json"}},
    {"dryrun",
     {"headroom dryrun --card h100-80gb -- python train.py",
      "headroom dryrun --card rtx4090 --max-peak 12GiB -- python train.py"}},
    {"finetune",
     {"headroom finetune --config llama-3.1-8b --card rtx4090",
      "headroom finetune --config llama-3.1-8b --card rtx4090 --method qlora"}},
    {"fit",
     {"headroom fit --card rtx4090 --model-size 2.7B",
      "headroom fit --card h100-80gb --model-size 7b --batch-size 8"}},
    {"plot",
     {"headroom plot runs.jsonl --x context-length --y peak --by precision",
      "headroom plot step.pickle --output step.svg"}},
    {"ppo",
     {"headroom ppo --model-size small --device virtual:h200",
      "headroom ppo --model-size medium --algorithm grpo --group-size 4"}},
    {"profile",
     {"headroom profile --model-size small --device virtual:h200",
      "headroom profile --model-size 2.7B --mode training --device virtual:a100-80gb"}},
    {"report",
     {"headroom report run.pickle --output report.html",
      "headroom report results/memory_profiling --output report.html"}},
    {"rlhf",
     {"headroom rlhf --model-size 7b --num-gpus 8",
      "headroom rlhf --model-size 70b --num-gpus 64 --optimizer-offload"}},
    {"serve",
     {"headroom serve --config llama-3.1-8b --card h100-80gb",
      "headroom serve --config qwen3-8b --card rtx4090 --max-len 16384"}},
    {"snapshot",
     {"headroom snapshot top run.pickle --limit 20",
      "headroom snapshot diff before.pickle after.pickle"}},
    {"sweep",
     {"headroom sweep --model-size small,medium --precision fp32,bf16",
      "headroom sweep --model-size 2.7B --context-length 128,512 --records runs.jsonl"}},
    {"table",
     {"headroom table summary runs.jsonl",
      "headroom table peak-memory runs.jsonl --format md --output peaks.md"}},
    {"theory",
     {"headroom theory --model-size 2.7B --profile-type training",
      "headroom theory --model-size 70b --precision bf16 --attention sdpa"}},
});

}  // namespace

std::vector<std::string> examples_of(const std::string& command) {
  const auto found =
      std::find_if(kExamplesOfCommands.begin(), kExamplesOfCommands.end(),
                   [&](const ExamplesOfCommand& examples) { return command == examples.command; });
  if (found == kExamplesOfCommands.end()) return {};
  return {found->lines.begin(), found->lines.end()};
}

}  // namespace headroom
