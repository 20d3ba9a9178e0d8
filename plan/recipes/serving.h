// The program of recipes/ that starts a serving engine, and what the engine says of its memory. No
// torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

// A value of max_length: the engine chooses the largest length that its cache can hold.
inline constexpr int64_t kLongest = -1;

enum class ServingEngine { kVllm, kSglang };

std::string engine_name(ServingEngine engine);  // "vLLM"

// The settings of a serving engine, which become its flags.
struct Serving {
  ServingEngine engine = ServingEngine::kVllm;
  std::string config;  // path of a config.json
  int64_t tensor_parallel = 1;
  int64_t pipeline_parallel = 1;
  int64_t max_length = 0;  // tokens of a request; 0 = the model's, kLongest = what the cache holds
  double utilization = 0.9;  // part of the card's memory that it may use; 0 = the engine's default
  int64_t max_requests = 0;  // at a time; 0 = the engine's default
  bool eager = false;        // without compilation and CUDA graphs
  bool sleeps = false;       // vLLM: with sleep mode, which the recipe tries
  std::vector<std::string> engine_flags;

  int64_t cards() const { return tensor_parallel * pipeline_parallel; }
};

std::vector<std::string> serving_words(const Serving& serving, const std::string& python);

// The engine's own command, for a machine with the card: "vllm serve MODEL ...".
std::string engine_command(const Serving& serving);

// The memory of each card that the engine prints. The texts are the engine's own.
struct EngineMemory {
  std::string weights_gib;
  std::string activations_gib;  // the peak of its profiling run; "" = not printed
  std::string outside_torch_gib;
  std::string cache_gib;
  std::string graphs_gib;              // "" = none were captured
  std::string tokens;                  // that the cache holds: "446,768"
  std::string concurrency;             // requests of the longest length: "109.07"
  std::string length;                  // that length: "4,096"
  std::string prompt;                  // tokens of the request that ended; "" = none ran
  std::string answer;                  // tokens that it generated
  std::vector<std::string> slept_gib;  // given back by sleep mode: level 1, level 2
};

// A number that the engine printed, "446,768" or "109.07"; nothing for "".
std::optional<double> engine_number(const std::string& text);

// Nothing if the engine did not come as far as its cache.
std::optional<EngineMemory> engine_memory(const std::string& log, ServingEngine engine);

// The engine's own reason for a failed start, one line; "" = it names none.
std::string engine_refusal(const std::string& log);

// True if the reason of a failed start is memory.
bool is_about_memory(const std::string& refusal);

}  // namespace headroom
