// headroom serve: starts a serving engine on virtual cards, with random weights, for its cache.
#include <unistd.h>

#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/commands/programs/serve_engines.h"
#include "cli/exit_code.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "plan/recipes/serving_advice.h"
#include "plan/recipes/stack.h"
#include "profiling/record/record_file.h"
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
      "Starts vLLM or SGLang, unmodified, on virtual cards with random weights of a model's "
      "shape,\n"
      "until it can take requests, and runs one: memory of the weights and of the profiling run,\n"
      "size of the KV cache in GiB and tokens, requests at a time, memory that is left. Words\n"
      "after -- are flags of vllm serve or sglang.launch_server.\n"
      "./recipes/install.sh serve installs vLLM, once; ./recipes/install.sh sglang SGLang.",
      joined(
          model_on_card_flags("Cards"),
          {{"tensor-parallel", "N", "cards over which each layer is split (default 1)", "Cards"},
           {"pipeline-parallel", "N", "groups of cards, each with some layers (default 1)",
            "Cards"},
           {.name = "engine",
            .value = "WORD",
            .help = "serving engine: vllm, sglang (default vllm)",
            .group = "Engine",
            .example = "--engine sglang"},
           {.name = "max-len",
            .value = "N",
            .help =
                "tokens of the longest request, prompt and answer (default: the model's positions)",
            .group = "Engine",
            .example = "--max-len 8192"},
           {.name = "utilization",
            .value = "PART",
            .help =
                "part of the card's memory that the engine may use (default 0.9; sglang: its own)",
            .group = "Engine",
            .example = "--utilization 0.95"},
           {"max-num-seqs", "N", "requests at a time, at most (default: the engine's)", "Engine"},
           {"eager", "", "neither compile nor capture CUDA graphs: faster to start", "Engine"},
           {"sleep", "", "try vLLM's sleep mode: the memory that levels 1 and 2 give back",
            "Engine"},
           {.name = "beside",
            .value = "TRAINER",
            .help = "leave memory for training on the same card: a size, or a file of Records. "
                    "Without --utilization, the largest one that leaves it is used",
            .group = "Search",
            .example = "--beside 4GiB"},
           {.name = "find",
            .value = "WORD",
            .help = "length: the longest request that the cache holds; utilization: the lowest "
                    "with which it starts; cards: the fewest of this card; card: the smallest one",
            .group = "Search",
            .example = "--find length"}}),
      true};
}

constexpr const char* kServeExample = "headroom serve --config llama-3.1-8b --card h100-80gb";

// The most that a run of the file reserved, and the context of its process.
int64_t bytes_of_records(const std::string& path, const Card& card) {
  int64_t most = 0;
  for (const Record& record : read_records(path)) {
    for (const auto& [name, bytes] : record.phases) most = std::max(most, bytes.reserved);
  }
  if (most == 0) {
    throw UsageError("--beside", path,
                     "has no Record with memory of the card; allowed: a size, "
                     "or a file that headroom profile --records wrote",
                     "--beside 4GiB");
  }
  return most + card.context_bytes;
}

std::optional<int64_t> trainer_bytes(const Arguments& arguments, const VirtualCard& card) {
  if (!arguments.has("beside")) return std::nullopt;
  const std::string typed = arguments.get("beside");
  const int64_t bytes = access(typed.c_str(), F_OK) == 0 ? bytes_of_records(typed, card.card)
                                                         : parse_bytes("--beside", typed);
  if (bytes < 1 || bytes >= card.card.total_bytes) {
    throw UsageError("--beside", typed,
                     "takes the whole card of " + format_bytes(card.card.total_bytes),
                     "--beside 4GiB");
  }
  return bytes;
}

ServingEngine engine_of(const Arguments& arguments) {
  const std::string word = arguments.get("engine", "vllm");
  check_choice("--engine", word, {"vllm", "sglang"}, "--engine sglang");
  if (word == "vllm") return ServingEngine::kVllm;
  for (const char* const flag : {"sleep", "beside", "find"}) {
    if (!arguments.has(flag)) continue;
    throw UsageError("--engine", word, std::string("takes no --") + flag + ", which is for vllm",
                     "--engine vllm");
  }
  return ServingEngine::kSglang;
}

EngineQuestion engine_question_of(const Arguments& arguments,
                                  const std::vector<std::string>& engine_flags) {
  if (!arguments.positional.empty()) {
    throw UsageError("'--' is needed before the engine's flags, '" + arguments.positional.front() +
                     "'; example: " + kServeExample + " -- --kv-cache-dtype fp8");
  }
  EngineQuestion question;
  question.model = model_on_card(arguments, kServeExample, "--card h100-80gb --bytes 40GiB");
  Serving& serving = question.serving;
  serving.engine = engine_of(arguments);
  serving.config = question.model.shape.config;
  serving.tensor_parallel = integer(arguments, "tensor-parallel", 1, 1, kMostCards);
  serving.pipeline_parallel =
      integer(arguments, "pipeline-parallel", 1, 1, kMostCards / serving.tensor_parallel);
  constexpr int64_t kMostLength = 1 << 24;
  const int64_t most = question.model.shape.most_length;
  serving.max_length = integer(arguments, "max-len", 0, 1, most > 0 ? most : kMostLength);
  if (serving.engine == ServingEngine::kSglang) serving.utilization = 0;
  if (arguments.has("utilization")) {
    serving.utilization = parse_number("--utilization", arguments.get("utilization"), 0.01, 1.0);
  }
  serving.max_requests = integer(arguments, "max-num-seqs", 0, 1, 1 << 20);
  serving.eager = arguments.has("eager");
  serving.sleeps = arguments.has("sleep");
  serving.engine_flags = engine_flags;
  question.bytes = arguments.get("bytes", "");
  question.find = arguments.get("find", "");
  if (!question.find.empty()) {
    check_choice("--find", question.find, {"length", "utilization", "cards", "card"},
                 "--find length");
  }
  if (question.find == "length") serving.max_length = kLongest;
  question.trainer = trainer_bytes(arguments, question.model.card);
  question.may_lower = !arguments.has("utilization");
  question.python = stack_python(serving.engine == ServingEngine::kVllm ? "serve" : "sglang");
  return question;
}

// Two decimals, as in the engine's own figures.
std::string gib_text(int64_t bytes) {
  return number_text(static_cast<double>(bytes) / (1 << 30), 2);
}

Table engine_table(const EngineQuestion& question, const ServingRun& run) {
  const EngineMemory& memory = *run.memory;
  Table table{.title = question.model.shape.name + " in " + engine_name(question.serving.engine) +
                       " on " + cards_of(question.serving, question.model.card) +
                       ", memory of each card",
              .columns = {{"use"}, {"GiB", true}}};
  const auto row = [&](const std::string& name, const std::string& gib) {
    if (!gib.empty()) table.rows.push_back({name, gib});
  };
  row("weights", memory.weights_gib);
  row("activations, peak of the profiling run", memory.activations_gib);
  row("outside torch", memory.outside_torch_gib);
  row("KV cache", memory.cache_gib);
  row("CUDA graphs, beside the part that it may use", memory.graphs_gib);
  if (run.room) row("left at the peak", gib_text(*run.room));
  for (size_t level = 0; level < memory.slept_gib.size(); ++level) {
    row("given back by sleep mode, level " + std::to_string(level + 1), memory.slept_gib[level]);
  }
  return table;
}

void print_page_of_serve(const std::string& text) { print(fitted(text, page_width())); }

void print_run(const EngineQuestion& question, const ServingRun& run) {
  const EngineMemory& memory = *run.memory;
  print_tables({engine_table(question, run)}, TableFormat::kText);
  std::string text = "\nthe cache holds " + memory.tokens + " tokens: " + memory.concurrency +
                     " requests of " + memory.length + " tokens\n";
  if (!memory.prompt.empty()) {
    text += "a request ran until it ended: " + grouped(std::stoll(memory.prompt)) +
            " tokens of a prompt, " + memory.answer + " of an answer\n";
  }
  if (question.trainer && run.room) {
    text += "training beside it takes " + format_bytes(*question.trainer) + " of " +
            format_bytes(*run.room) + " that are left\n";
  }
  const bool is_measured =
      question.serving.engine == ServingEngine::kVllm && question.serving.cards() == 1;
  const std::string fewer = is_measured ? not_counted(memory) : "";
  if (!fewer.empty()) text += fewer + "\n";
  print_page_of_serve(text);
  print_command(engine_command(question.serving));
}

int exit_of_refusal(const EngineQuestion& question, const ServingRun& run) {
  const std::string advice =
      what_would_work(run.reason, question.serving, question.model.shape.parameters,
                      question.model.card.card.total_bytes);
  log_error("the engine does not start on " + cards_of(question.serving, question.model.card) +
            ": " + run.reason + (advice.empty() ? "" : "; try " + advice));
  return kExitAllFailed;
}

// Starts the engine again with less, until training fits beside it.
ServingRun run_beside(EngineQuestion& question, Engines& engines, ServingRun run) {
  constexpr int kMostTrials = 3;  // graphs and rounding make the first one miss by some MiB
  const VirtualCard& card = question.model.card;
  for (int trial = 0; trial < kMostTrials; ++trial) {
    if (run.fits != Fits::kYes || !run.room || *run.room >= *question.trainer) break;
    const int64_t percent = utilization_beside(question.serving.utilization, card.card.total_bytes,
                                               *run.room, *question.trainer);
    if (percent < 1) break;
    question.serving.utilization = static_cast<double>(percent) / 100;
    run = engines.run(question.serving, card);
  }
  return run;
}

int exit_of_beside(const EngineQuestion& question, const ServingRun& run) {
  if (!question.trainer) return kExitOk;
  if (!run.room) {
    log_error(
        "the memory that is left for training is not known: the engine's processes left no "
        "report of the card");
    return kExitEnvironment;
  }
  if (*run.room >= *question.trainer) return kExitOk;
  const int64_t percent =
      utilization_beside(question.serving.utilization, question.model.card.card.total_bytes,
                         *run.room, *question.trainer);
  log_error("training does not fit beside it: " + format_bytes(*question.trainer - *run.room) +
            " are missing" +
            (percent < 1 ? "" : "; try --utilization " + shortest_text(percent / 100.0)));
  return kExitAllFailed;
}

int find_utilization(const EngineQuestion& question, const ServingRun& first, Engines& engines) {
  const VirtualCard& card = question.model.card;
  const ServingCards cards{.card = card.card.name, .count = 1, .card_bytes = card.card.total_bytes};
  const auto lowest = lowest_utilization(
      question.serving, cards, first, [&](const Serving& serving, const ServingCards&) {
        const std::string name = "utilization " + shortest_text(serving.utilization);
        return ServingRun{.fits = engines.tried(serving, card, name)};
      });
  if (engines.stopped()) return kExitInterrupted;
  if (!lowest) {
    log_error("the search for the lowest utilization ended without one");
    return kExitSomeFailed;
  }
  print_page_of_serve("lowest utilization: " + shortest_text(*lowest / 100.0) +
                      ", in steps of 0.01\n");
  return kExitOk;
}

std::vector<ServingCards> candidates_of(const EngineQuestion& question) {
  std::vector<ServingCards> candidates;
  const VirtualCard& card = question.model.card;
  if (question.find == "cards") {
    for (const int64_t count : {1, 2, 4, 8}) {
      candidates.push_back({card.card.name, count, card.card.total_bytes});
    }
    return candidates;
  }
  const int64_t count = question.serving.tensor_parallel;
  for (const Card& one : cards()) {
    if (one.refused.empty()) candidates.push_back({one.name, count, one.total_bytes});
  }
  return candidates;
}

int find_cards(const EngineQuestion& question, const ServingRun& first, Engines& engines) {
  constexpr size_t kMostTrials = 4;
  const Serving& asked = question.serving;
  const ServingCards here{question.model.card.card.name, asked.cards(),
                          question.model.card.card.total_bytes};
  std::vector<ServingCards> promising =
      promising_cards(asked, here, first, candidates_of(question));
  if (promising.size() > kMostTrials) promising.resize(kMostTrials);
  for (const ServingCards& candidate : promising) {
    Serving serving = asked;
    serving.tensor_parallel = candidate.count;
    serving.pipeline_parallel = 1;
    const VirtualCard card = virtual_card({"--card", "--bytes", "--card h200"}, candidate.card,
                                          question.find == "cards" ? question.bytes : "");
    const bool is_first = candidate.card == here.card && candidate.count == here.count &&
                          candidate.card_bytes == here.card_bytes && asked.pipeline_parallel == 1;
    const Fits fits = is_first ? first.fits : engines.tried(serving, card, cards_of(serving, card));
    if (fits == Fits::kYes) {
      print_page_of_serve((question.find == "cards" ? "fewest cards: " : "smallest card: ") +
                          cards_of(serving, card) + "\n");
      return kExitOk;
    }
    if (engines.stopped()) return kExitInterrupted;
  }
  log_error("none of the cards that were tried serves it");
  return kExitAllFailed;
}

int run_serve(const Arguments& arguments, const std::vector<std::string>& engine_flags) {
  EngineQuestion question = engine_question_of(arguments, engine_flags);
  const HeldSignals signals;
  Engines engines(question, signals);
  ServingRun run = engines.run(question.serving, question.model.card);
  if (question.trainer && question.may_lower) run = run_beside(question, engines, run);
  int code = kExitOk;
  const bool starts = run.fits == Fits::kYes;
  const bool searches_cards = question.find.starts_with("card");
  if (starts && !engines.stopped()) {
    if (question.find == "length")
      question.serving.max_length = static_cast<int64_t>(*engine_number(run.memory->length));
    print_run(question, run);
    code = exit_of_beside(question, run);
  }
  if (!engines.stopped() && !starts && !searches_cards) return exit_of_refusal(question, run);
  if (!engines.stopped() && searches_cards) code = find_cards(question, run, engines);
  if (!engines.stopped() && question.find == "utilization") {
    code = find_utilization(question, run, engines);
  }
  if (!engines.stopped()) return code;
  return log_interrupted();
}

}  // namespace

int run_serve_command(int argc, char** argv) {
  const SplitWords words = split_at_dashes(argc, argv);
  const auto body = [&](const Arguments& arguments) { return run_serve(arguments, words.rest); };
  return parse_and_run(serve_command_line(), static_cast<int>(words.flags.size()),
                       words.flags.data(), body);
}

}  // namespace headroom
