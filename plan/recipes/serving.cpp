#include "plan/recipes/serving.h"

#include <regex>
#include <sstream>

#include "plan/fit/answers/command_line.h"
#include "plan/recipes/log_matches.h"
#include "plan/recipes/sglang.h"
#include "plan/recipes/stack.h"
#include "text/quantity.h"

namespace headroom {
namespace {

std::vector<std::string> vllm_flags_of(const Serving& serving) {
  std::vector<std::string> flags;
  const auto add = [&](const char* flag, const std::string& value) {
    flags.insert(flags.end(), {flag, value});
  };
  const auto add_number = [&](const char* flag, int64_t value, int64_t usual) {
    if (value != usual) add(flag, std::to_string(value));
  };
  add_number("--tensor-parallel-size", serving.tensor_parallel, 1);
  add_number("--pipeline-parallel-size", serving.pipeline_parallel, 1);
  add_number("--max-model-len", serving.max_length, 0);
  add("--gpu-memory-utilization", shortest_text(serving.utilization));
  add_number("--max-num-seqs", serving.max_requests, 0);
  if (serving.eager) flags.emplace_back("--enforce-eager");
  if (serving.sleeps) flags.emplace_back("--enable-sleep-mode");
  flags.insert(flags.end(), serving.engine_flags.begin(), serving.engine_flags.end());
  return flags;
}

std::optional<EngineMemory> vllm_memory(const std::string& log) {
  const auto one = [&](const char* pattern) { return first_groups(log, pattern).front(); };
  const auto concurrency =
      first_groups(log, R"(Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x)");
  const auto request = request_of(log);
  EngineMemory memory{
      .weights_gib = one(R"(weights memory: ([\d.]+)\s?GiB)"),
      .activations_gib = one(R"(torch peak memory increase: ([\d.]+)\s?GiB)"),
      .outside_torch_gib = one(R"(non-torch forward increase memory: (-?[\d.]+)\s?GiB)"),
      .cache_gib = one(R"(Available KV cache memory: ([\d.]+) GiB)"),
      .graphs_gib = one(R"(Graph capturing finished in [\d.]+ secs?, took (-?[\d.]+) GiB)"),
      .tokens = one(R"(GPU KV cache size: ([\d,]+) tokens)"),
      .concurrency = concurrency.back(),
      .length = concurrency.front(),
      .prompt = request.front(),
      .answer = request.back(),
      .slept_gib = all_of(log, R"(Sleep mode freed ([\d.]+) GiB memory)")};
  if (memory.weights_gib.empty()) memory.weights_gib = one(R"(Model loading took ([\d.]+) GiB)");
  if (memory.tokens.empty()) return std::nullopt;
  return memory;
}

struct EngineWords {
  const char* name;
  const char* recipe;
  const char* command;
  std::vector<std::string> (*flags_of)(const Serving&);
  std::optional<EngineMemory> (*memory_of)(const std::string& log);
};

const EngineWords& words_of(ServingEngine engine) {
  static const EngineWords vllm{"vLLM", "vllm_recipe.py", "vllm serve MODEL", vllm_flags_of,
                                vllm_memory};
  static const EngineWords sglang{"SGLang", "sglang_recipe.py",
                                  "python -m sglang.launch_server --model-path MODEL",
                                  sglang_flags_of, sglang_memory};
  return engine == ServingEngine::kVllm ? vllm : sglang;
}

}  // namespace

std::string engine_name(ServingEngine engine) { return words_of(engine).name; }

std::vector<std::string> serving_words(const Serving& serving, const std::string& python) {
  const EngineWords& engine = words_of(serving.engine);
  std::vector<std::string> words = {python, recipe_path(engine.recipe), "--shape", serving.config};
  const std::vector<std::string> flags = engine.flags_of(serving);
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

std::string engine_command(const Serving& serving) {
  const EngineWords& engine = words_of(serving.engine);
  std::string text = engine.command;
  for (const std::string& flag : engine.flags_of(serving)) text += " " + shell_word(flag);
  return text;
}

std::optional<double> engine_number(const std::string& text) {
  std::string digits = text;
  std::erase(digits, ',');
  if (digits.empty()) return std::nullopt;
  return std::stod(digits);
}

std::optional<EngineMemory> engine_memory(const std::string& log, ServingEngine engine) {
  return words_of(engine).memory_of(log);
}

std::string engine_refusal(const std::string& log) {
  std::istringstream lines(log);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    // pydantic's, on a line of its own.
    const std::string invalid = first_groups(line, R"(^\s+Value error, (.+?)(?: \[type=.*)?$)")[0];
    if (!invalid.empty()) return invalid;
    const std::vector<std::string> error =
        first_groups(line, R"(\b((?:\w+\.)*\w*(?:Error|Exception)): (.+)$)");
    if (error[1].empty() || error[1].starts_with("Engine core initialization failed")) continue;
    if (error[0] == "ValueError") return error[1];
    if (first.empty() && !error[0].ends_with("ValidationError")) first = error[0] + ": " + error[1];
  }
  return first;
}

bool is_about_memory(const std::string& refusal) {
  return refusal.find("memory") != std::string::npos;
}

}  // namespace headroom
