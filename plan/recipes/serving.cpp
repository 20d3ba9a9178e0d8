#include "plan/recipes/serving.h"

#include <regex>
#include <sstream>

#include "plan/fit/answers/command_line.h"
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

// The first group of each match.
std::vector<std::string> all_of(const std::string& log, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(log.begin(), log.end(), regex), end; it != end; ++it) {
    found.push_back((*it)[1].str());
  }
  return found;
}

// The first match's groups, or empty ones.
std::vector<std::string> first_groups(const std::string& log, const char* pattern) {
  const std::regex regex(pattern);
  std::smatch match;
  std::regex_search(log, match, regex);
  std::vector<std::string> groups;
  for (size_t i = 1; i <= regex.mark_count(); ++i) groups.push_back(match[i].str());
  return groups;
}

}  // namespace

std::vector<std::string> serving_words(const Serving& serving, const std::string& python) {
  std::vector<std::string> words = {python, recipe_path("vllm_recipe.py"), "--shape",
                                    serving.config};
  const std::vector<std::string> flags = vllm_flags_of(serving);
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

std::string engine_command(const Serving& serving) {
  std::string text = "vllm serve MODEL";
  for (const std::string& flag : vllm_flags_of(serving)) text += " " + shell_word(flag);
  return text;
}

std::optional<double> engine_number(const std::string& text) {
  std::string digits = text;
  std::erase(digits, ',');
  if (digits.empty()) return std::nullopt;
  return std::stod(digits);
}

std::optional<EngineMemory> engine_memory(const std::string& log) {
  const auto one = [&](const char* pattern) { return first_groups(log, pattern).front(); };
  const auto concurrency =
      first_groups(log, R"(Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x)");
  const auto request =
      first_groups(log, R"(the request ended: (\d+) tokens of a prompt, (\d+) of an answer)");
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
