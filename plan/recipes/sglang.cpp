#include "plan/recipes/sglang.h"

#include <regex>
#include <sstream>

#include "plan/recipes/log_matches.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// The sum of the numbers, "" if there are none.
std::string sum_of(const std::vector<std::string>& numbers) {
  if (numbers.empty()) return "";
  double sum = 0;
  for (const std::string& number : numbers) sum += engine_number(number).value_or(0);
  return number_text(sum, 2);
}

// Without the lines of other ranks, "[2026-11-29 03:15:22 TP1] ...".
std::string first_rank_of(const std::string& log) {
  static const std::regex other_rank(R"(^\[[^\]]* (TP|PP)[1-9]\d*[^\]]*\])");
  std::istringstream lines(log);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, other_rank)) kept += line + "\n";
  }
  return kept;
}

}  // namespace

std::vector<std::string> sglang_flags_of(const Serving& serving) {
  std::vector<std::string> flags;
  const auto add = [&](const char* flag, int64_t value, int64_t usual) {
    if (value != usual) flags.insert(flags.end(), {flag, std::to_string(value)});
  };
  add("--tp-size", serving.tensor_parallel, 1);
  add("--pp-size", serving.pipeline_parallel, 1);
  add("--context-length", serving.max_length, 0);
  if (serving.utilization > 0) {
    flags.insert(flags.end(), {"--mem-fraction-static", shortest_text(serving.utilization)});
  }
  add("--max-running-requests", serving.max_requests, 0);
  if (serving.eager) flags.emplace_back("--disable-cuda-graph");
  flags.insert(flags.end(), serving.engine_flags.begin(), serving.engine_flags.end());
  return flags;
}

std::optional<EngineMemory> sglang_memory(const std::string& all) {
  const std::string log = first_rank_of(all);
  const auto settled = first_groups(log, R"(max_total_num_tokens=(\d+),.* context_len=(\d+),)");
  if (settled.front().empty()) return std::nullopt;
  const int64_t tokens = std::stoll(settled.front());
  const int64_t length = std::stoll(settled.back());
  const auto request = request_of(log);
  return EngineMemory{
      .weights_gib = first_groups(log, R"(Load weight end\..* mem usage=([\d.]+) GB)").front(),
      .cache_gib = sum_of(all_of(log, R"(\b(?:K|V|KV) size: ([\d.]+) GB)")),
      .graphs_gib =
          sum_of(all_of(log, R"(Capture .*(?:CUDA|cuda) graph end\..* mem usage=([\d.]+) GB)")),
      .tokens = grouped(tokens),
      .concurrency = length > 0
                         ? number_text(static_cast<double>(tokens) / static_cast<double>(length), 2)
                         : "",
      .length = grouped(length),
      .prompt = request.front(),
      .answer = request.back()};
}

}  // namespace headroom
