// headroom budget: computes an inference engine's memory on a card.
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"
#include "cli/flags/plans/card_flags.h"
#include "cli/flags/plans/model_flags.h"
#include "cli/output.h"
#include "plan/budget/report.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kUsualSize = "7b";
constexpr int64_t kUsualContext = 4096;  // for a shape with an unknown context

// Without FP8: an engine does not compute in 8 bits.
std::vector<std::string> weight_types() {
  std::vector<std::string> words = choices_of<ElementType>();
  std::erase(words, to_string(ElementType::kFp8));
  return words;
}

CommandLine budget_command_line() {
  constexpr const char* kEngine = "Engine";
  constexpr const char* kLog = "Values from your own log, instead of the built-in ones";
  const std::vector<Flag> more = {
      {"tp", "N", "tensor-parallel GPUs (default 1)", "Machine"},
      {"gpu-memory-utilization", "X",
       "engine's share of the memory, above 0, at most 1 (default 0.9)", kEngine},
      {"max-model-len", "N", "tokens per sequence (default the model's context, else 4096)",
       kEngine},
      {"max-num-seqs", "N",
       "concurrent sequences (default 256; vLLM itself: 1024 on cards of 70 GiB)", kEngine},
      {"max-num-batched-tokens", "N", "tokens per forward pass (default 8192)", kEngine},
      {"block-size", "N", "tokens per cache block (default 16)", kEngine},
      {"dtype", "WORD",
       "type of weights and activations: " + join(weight_types()) + " (default " +
           to_string(EngineSpec{}.dtype) + ")",
       kEngine},
      {"kv-dtype", "WORD",
       "type of the cache: " + join(choices_of<ElementType>()) + " (default the weights')",
       kEngine},
      {"tied-embeddings", "",
       "output head shares the token embedding (Llama 3.2 1B and 3B, Qwen2.5 up to 3B)", kEngine},
      {"enforce-eager", "", "use no CUDA graphs", kEngine},
      {"graphs-inside", "", "CUDA graphs are part of the share, as in vLLM 0.21 and later",
       kEngine},
      {"kv-cache-memory", "SIZE", "size of the cache (vLLM's kv-cache-memory-bytes)", kEngine},
      {"weight-memory", "SIZE", "\"weights memory\" or \"model weights take\"", kLog},
      {"activation-memory", "SIZE", "\"torch peak memory increase\"", kLog},
      {"non-torch-memory", "SIZE", "\"non-torch forward increase memory\"", kLog},
      {"graph-memory", "SIZE", "\"Graph capturing finished ... took\"", kLog},
      {"format", "WORD", "table, csv, md, json (default table)", "Output"}};
  return {
      "budget --model-size NAME [flags]",
      "Computes how an inference engine (by vLLM's rules) uses the memory of a card: key/value\n"
      "cache, sequences, and the memory left for training.",
      joined(joined(model_flags("shape", kUsualSize, "Model"), card_flags("Machine")), more)};
}

std::optional<int64_t> size_from(const Arguments& arguments, const char* name) {
  if (!arguments.has(name)) return std::nullopt;
  return parse_bytes("--" + std::string(name), arguments.get(name));
}

double utilization_from(const Arguments& arguments) {
  const std::string flag = "--gpu-memory-utilization";
  const std::string text = arguments.get(flag.substr(2), "0.9");
  const double value = parse_number(flag, text, 0, 1);
  if (value <= 0) {
    throw UsageError(flag, text, "is not a share; allowed: above 0, at most 1", flag + " 0.9");
  }
  return value;
}

EngineSpec engine_from(const Arguments& arguments) {
  EngineSpec spec;
  spec.model = shape_from(arguments, kUsualSize);
  spec.card = card_from(arguments);
  spec.utilization = utilization_from(arguments);
  spec.tp = integer(arguments, "tp", 1);
  spec.max_model_len = integer(arguments, "max-model-len",
                               spec.model.max_context > 0 ? spec.model.max_context : kUsualContext);
  spec.max_num_seqs = integer(arguments, "max-num-seqs", 256);
  spec.max_num_batched_tokens = integer(arguments, "max-num-batched-tokens", 8192);
  spec.block_size = integer(arguments, "block-size", 16);
  if (arguments.has("dtype")) {
    const std::string typed = arguments.get("dtype");
    check_name("--dtype", typed, weight_types(), "--dtype " + weight_types().front());
    spec.dtype = parse_word<ElementType>("--dtype", typed);
  }
  spec.cache = choice(arguments, "kv-dtype", spec.dtype);
  spec.tied_embeddings = arguments.has("tied-embeddings");
  if (spec.tied_embeddings && arguments.has("weight-memory")) {
    throw UsageError("--tied-embeddings", "true",
                     "has no effect with --weight-memory, which sets the memory of the weights",
                     "--weight-memory " + arguments.get("weight-memory"));
  }
  spec.enforce_eager = arguments.has("enforce-eager");
  spec.graphs_inside = arguments.has("graphs-inside");
  spec.weights = size_from(arguments, "weight-memory");
  spec.activations = size_from(arguments, "activation-memory");
  spec.non_torch = size_from(arguments, "non-torch-memory");
  spec.graphs = size_from(arguments, "graph-memory");
  spec.cache_bytes = size_from(arguments, "kv-cache-memory");
  for (const char* flag : {"graph-memory", "graphs-inside"}) {
    if (spec.enforce_eager && arguments.has(flag)) {
      throw UsageError("--" + std::string(flag), arguments.get(flag),
                       "has no effect with --enforce-eager: there are no CUDA graphs",
                       "--enforce-eager");
    }
  }
  validate(spec);
  return spec;
}

int print_budget(const Arguments& arguments) {
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  const EngineSpec spec = engine_from(arguments);
  print_tables(budget_report(spec), format);
  return inference_budget(spec).fits() ? kExitOk : kExitAllFailed;
}

}  // namespace

int run_budget_command(int argc, char** argv) {
  return parse_and_run(budget_command_line(), argc, argv, print_budget);
}

}  // namespace headroom
