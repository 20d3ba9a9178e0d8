// headroom serve: starts a serving engine on virtual cards, with random weights, for its cache.
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/commands/runs/quiet_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"
#include "cli/flags/plans/recipe_flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "plan/recipes/serving.h"
#include "plan/recipes/stack.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/table.h"
#include "text/wrap.h"

namespace headroom {
namespace {

constexpr int64_t kMostCards = 64;

CommandLine serve_command_line() {
  return {
      "serve --config NAME --card CARD [flags] [-- FLAGS]",
      "Starts vLLM, unmodified, on virtual cards with random weights of a model's shape, until it\n"
      "can take requests: memory of the weights and of the profiling run, size of the KV cache in\n"
      "GiB and tokens, requests at a time. Words after -- are flags of vllm serve.\n"
      "./recipes/install.sh serve installs vLLM, once.",
      joined(
          model_on_card_flags("Cards"),
          {{"tensor-parallel", "N", "cards over which each layer is split (default 1)", "Cards"},
           {"pipeline-parallel", "N", "groups of cards, each with some layers (default 1)",
            "Cards"},
           {.name = "max-len",
            .value = "N",
            .help =
                "tokens of the longest request, prompt and answer (default: the model's positions)",
            .group = "Engine",
            .example = "--max-len 8192"},
           {.name = "utilization",
            .value = "PART",
            .help = "part of the card's memory that the engine may use (default 0.9)",
            .group = "Engine",
            .example = "--utilization 0.95"},
           {"max-num-seqs", "N", "requests at a time, at most (default: the engine's)", "Engine"},
           {"eager", "", "neither compile nor capture CUDA graphs: faster to start", "Engine"}}),
      true};
}

struct EngineQuestion {
  ModelOnCard model;
  Serving serving;
  std::string python;
};

EngineQuestion engine_question_of(const Arguments& arguments,
                                  const std::vector<std::string>& engine_flags) {
  constexpr const char* kExample = "headroom serve --config llama-3.1-8b --card h100-80gb";
  if (!arguments.positional.empty()) {
    throw UsageError("'--' is needed before the engine's flags, '" + arguments.positional.front() +
                     "'; example: " + kExample + " -- --kv-cache-dtype fp8");
  }
  EngineQuestion question;
  question.model = model_on_card(arguments, kExample, "--card h100-80gb --bytes 40GiB");
  Serving& serving = question.serving;
  serving.config = question.model.shape.config;
  serving.tensor_parallel = integer(arguments, "tensor-parallel", 1, 1, kMostCards);
  serving.pipeline_parallel =
      integer(arguments, "pipeline-parallel", 1, 1, kMostCards / serving.tensor_parallel);
  constexpr int64_t kMostLength = 1 << 24;
  const int64_t most = question.model.shape.most_length;
  serving.max_length = integer(arguments, "max-len", 0, 1, most > 0 ? most : kMostLength);
  serving.utilization =
      parse_number("--utilization", arguments.get("utilization", "0.9"), 0.01, 1.0);
  serving.max_requests = integer(arguments, "max-num-seqs", 0, 1, 1 << 20);
  serving.eager = arguments.has("eager");
  serving.engine_flags = engine_flags;
  question.python = stack_python("serve");
  return question;
}

std::string cards_of(const EngineQuestion& question) {
  return cards_text(question.serving.tensor_parallel * question.serving.pipeline_parallel,
                    question.model.card);
}

Table engine_table(const EngineQuestion& question, const EngineMemory& memory) {
  Table table{.title = question.model.shape.name + " in vLLM on " + cards_of(question) +
                       ", memory of each card",
              .columns = {{"use"}, {"GiB", true}}};
  const auto row = [&](const char* name, const std::string& gib) {
    if (!gib.empty()) table.rows.push_back({name, gib});
  };
  row("weights", memory.weights_gib);
  row("activations, peak of the profiling run", memory.activations_gib);
  row("outside torch", memory.outside_torch_gib);
  row("KV cache", memory.cache_gib);
  row("CUDA graphs, beside the part that it may use", memory.graphs_gib);
  return table;
}

int run_serve(const Arguments& arguments, const std::vector<std::string>& engine_flags) {
  const EngineQuestion question = engine_question_of(arguments, engine_flags);
  const Serving& serving = question.serving;
  DryRun request;
  request.card = question.model.card;
  request.count = static_cast<int>(serving.tensor_parallel * serving.pipeline_parallel);
  request.skip_host_init = true;
  request.words = serving_words(serving, question.python);
  const HeldSignals signals;
  log_status("starting vLLM with " + question.model.shape.name + " on " + cards_of(question));
  const QuietRun quiet = run_quietly(request, signals);
  log_status("");
  if (quiet.outcome.asked_by != 0) {
    log_error("interrupted");
    return kExitInterrupted;
  }
  const auto memory = engine_memory(quiet.output);
  if (quiet.run.fits != Fits::kYes || !memory) {
    std::string reason = engine_refusal(quiet.output);
    if (reason.empty()) reason = quiet.run.reason;
    if (reason.empty()) reason = "it ended before its cache was made";
    log_error("the engine does not start on " + cards_of(question) + ": " + reason);
    return kExitAllFailed;
  }
  print_tables({engine_table(question, *memory)}, TableFormat::kText);
  print(fitted("\nthe cache holds " + memory->tokens + " tokens: " + memory->concurrency +
                   " requests of " + memory->length + " tokens\n",
               page_width()));
  print_command(engine_command(serving));
  return kExitOk;
}

}  // namespace

int run_serve_command(int argc, char** argv) {
  const SplitWords words = split_at_dashes(argc, argv);
  const auto body = [&](const Arguments& arguments) { return run_serve(arguments, words.rest); };
  return parse_and_run(serve_command_line(), static_cast<int>(words.flags.size()),
                       words.flags.data(), body);
}

}  // namespace headroom
