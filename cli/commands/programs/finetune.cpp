// headroom finetune: runs the public fine-tuning stacks on a virtual card, with random weights.
#include <algorithm>
#include <stdexcept>

#include "bench/dryrun/report/breakdown.h"
#include "bench/dryrun/report/report.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/commands/runs/quiet_run.h"
#include "cli/commands/runs/tried_runs.h"
#include "cli/exit_code.h"
#include "cli/flags/file_flags.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/flags.h"
#include "cli/flags/plans/recipe_flags.h"
#include "cli/flags/plans/tuning_flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "files/atomic_file.h"
#include "plan/recipes/stack.h"
#include "plan/recipes/tuning_search.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/words.h"
#include "text/wrap.h"

namespace headroom {
namespace {

constexpr int64_t kLengthStride = 128;

CommandLine finetune_command_line() {
  return {
      "finetune --config NAME --card CARD [flags]",
      "Runs a fine-tuning of a model with transformers, peft and bitsandbytes on a virtual card,\n"
      "with random weights of the model's shape: whether it fits, its peak by use, the change "
      "that\n"
      "makes it fit, the largest batch or length. It prints the command of the program that it\n"
      "ran, which also works on a real card. ./recipes/install.sh finetune installs the packages.",
      joined(joined(model_on_card_flags("Card"), tuning_flags()),
             {{.name = "largest",
               .value = "WORD",
               .help = "find the largest batch, or the largest length (in steps of 128), that fits",
               .group = "Search",
               .example = "--largest batch"},
              {.name = "output",
               .value = "FILE",
               .help = "file for the breakdown of the peak, as JSON",
               .group = "Output",
               .file = FileUse::kWritten}})};
}

// Runs recipes one after another, with a line of progress for each.
class Recipes {
 public:
  Recipes(const TuningQuestion& question, const HeldSignals& signals)
      : question_(question), signals_(signals) {}

  // With a breakdown.
  QuietRun run(const FineTuning& tuning) {
    DryRun request = request_of(tuning, "");
    request.breakdown = true;
    QuietRun quiet = run_quietly(request, signals_);
    stopped_ = quiet.outcome.asked_by != 0;
    check_card(quiet.run);
    return quiet;
  }

  // For a search: without a breakdown.
  ProgramRun run_of(const FineTuning& tuning, const std::string& alloc_conf,
                    const std::string& name) {
    ProgramRun run = tried_.run(request_of(tuning, alloc_conf), name);
    check_card(run);
    return run;
  }

  bool stopped() { return stopped_ || tried_.stopped(); }

 private:
  static void check_card(ProgramRun& run) {
    if (run.fits != Fits::kYes || run.peak) return;
    run.fits = Fits::kUnknown;
    run.reason = "it used no card";
  }

  DryRun request_of(const FineTuning& tuning, const std::string& alloc_conf) const {
    DryRun request;
    request.card = question_.model.card;
    request.alloc_conf = alloc_conf;
    request.route = question_.route;
    request.words = recipe_words(tuning, question_.python);
    if (tuning.cards > 1) {
      request.world_size = tuning.cards;
      request.count = static_cast<int>(std::min<int64_t>(tuning.cards, kCardsOfNode));
      request.ranks = {0};
      request.skip_host_init = true;
    }
    return request;
  }

  const TuningQuestion& question_;
  const HeldSignals& signals_;
  TriedRuns tried_{signals_};
  bool stopped_ = false;
};

std::string title_of(const TuningQuestion& question) {
  const FineTuning& tuning = question.tuning;
  std::string text = question.model.shape.name;
  if (question.model.shape.parameters > 0)
    text += " (" + grouped(question.model.shape.parameters) + " parameters)";
  text += ", " + tuning.method;
  if (tuning.method != "full") text += " of rank " + std::to_string(tuning.rank);
  text += ", " + std::to_string(tuning.batch) + " x " + std::to_string(tuning.length) +
          " tokens, " + tuning.optimizer + (tuning.checkpointing ? ", checkpointing" : "");
  return text;
}

std::string command_of(const TuningQuestion& question, const FineTuning& tuning,
                       const std::string& alloc_conf) {
  const std::string variable =
      alloc_conf.empty() ? "" : "PYTORCH_CUDA_ALLOC_CONF=" + alloc_conf + " ";
  return variable + shell_command(launch_words(tuning, question.python));
}

void print_page(const std::string& text) { print(fitted(text, page_width())); }

// The bytes that the allocator may reserve at most: the card's, without what is not the
// allocator's.
int64_t capacity_of(const QuietRun& quiet) {
  int64_t least = INT64_MAX;
  for (const auto& process : quiet.document["processes"]) {
    for (const auto& device : process["devices"]) {
      const DevicePeaks peaks = peaks_of(quiet.document, device);
      if (peaks.allocated && peaks.room) least = std::min(least, *peaks.room + *peaks.reserved);
    }
  }
  if (least == INT64_MAX) {
    throw std::runtime_error(
        "the report of the card's memory was lost; run it again with TMPDIR=DIR on a disk with "
        "free space");
  }
  return least;
}

int exit_of_failure(const TuningQuestion& question, const QuietRun& quiet) {
  const FineTuning& tuning = question.tuning;
  const std::string ranks = tuning.cards == 1 ? ""
                                              : " --world-size " + std::to_string(tuning.cards) +
                                                    " --rank 0 --skip-host-init";
  log_error("the training failed, not for lack of card memory: " + quiet.run.reason +
            "; its command, to run alone: headroom dryrun --card " + question.model.card.card.name +
            ranks + (question.route.empty() ? "" : " --route " + question.route) + " -- " +
            shell_command(recipe_words(tuning, question.python)));
  return kExitAllFailed;
}

int print_largest(const TuningQuestion& question, const TuningSize& size, const QuietRun& first,
                  Recipes& recipes) {
  const LargestSize largest = largest_size(
      question.tuning, size, first.run, capacity_of(first),
      [&](const FineTuning& tuning, const std::string& conf) {
        return recipes.run_of(tuning, conf, size.flag + " " + std::to_string(tuning.*size.value));
      });
  if (recipes.stopped()) return kExitInterrupted;
  if (!largest.failure.empty()) {
    log_error("failed for another reason than memory: " + largest.failure);
    return kExitSomeFailed;
  }
  std::string text = "largest " + size.flag + ": " + grouped(largest.value) + " (" +
                     format_bytes(*largest.at.peak) + " reserved)";
  if (largest.beyond)
    text += "; " + grouped(largest.value + size.range.stride) +
            " does not fit: " + largest.beyond->reason;
  print_page(text + "\n");
  return kExitOk;
}

int print_change(const TuningQuestion& question, Recipes& recipes) {
  const auto changes = [&](const FineTuning& tuning, const std::string& conf) {
    return changed_flags(question.tuning, tuning, conf);
  };
  const auto change =
      change_that_fits(question.tuning, [&](const FineTuning& tuning, const std::string& conf) {
        return recipes.run_of(tuning, conf, "with " + changes(tuning, conf));
      });
  if (recipes.stopped()) return kExitInterrupted;
  if (!change) {
    print_page("none of the changes that were tried makes it fit\n");
    return kExitAllFailed;
  }
  print_page("fits with " + changes(change->tuning, change->alloc_conf) + ": " +
             format_bytes(*change->run.peak) + " reserved\n");
  print_command(command_of(question, change->tuning, change->alloc_conf));
  return kExitAllFailed;
}

std::optional<TuningSize> size_of(const Arguments& arguments, const TuningQuestion& question) {
  if (!arguments.has("largest")) return std::nullopt;
  const std::string word = arguments.get("largest");
  check_choice("--largest", word, {"batch", "length"}, "--largest batch");
  if (word == "batch")
    return TuningSize{
        "batch", &FineTuning::batch, {.least = 1, .most = kMostTuningBatch, .stride = 1}};
  const int64_t most =
      question.model.shape.most_length > 0 ? question.model.shape.most_length : kMostTuningLength;
  return TuningSize{"length",
                    &FineTuning::length,
                    {.least = kLengthStride, .most = most, .stride = kLengthStride}};
}

int print_answer(const Arguments& arguments, const TuningQuestion& question,
                 const std::optional<TuningSize>& size, Recipes& recipes) {
  const std::string output = arguments.get("output");
  log_status("running " + title_of(question));
  const QuietRun first = recipes.run(question.tuning);
  log_status("");
  if (recipes.stopped()) return kExitInterrupted;
  if (first.run.fits == Fits::kUnknown) return exit_of_failure(question, first);
  const nlohmann::ordered_json breakdown = breakdown_document(first.document, first.outcome);
  const bool fits = first.run.fits == Fits::kYes;
  print_page(title_of(question) + "\n" + breakdown_summary(breakdown, page_width()) + "\n");
  if (!output.empty()) write_json(output, breakdown);
  const std::string on = " on " + cards_text(question.tuning.cards, question.model.card) + ": ";
  if (!fits) {
    print_page("does not fit" + on + first.run.reason + "\n");
    return print_change(question, recipes);
  }
  print_page("fits" + on + format_bytes(*first.run.peak) + " reserved, " +
             format_bytes(capacity_of(first) - *first.run.peak) + " left\n");
  print_command(command_of(question, question.tuning, ""));
  return size ? print_largest(question, *size, first, recipes) : kExitOk;
}

int run_finetune(const Arguments& arguments) {
  TuningQuestion question = tuning_question_of(arguments);
  const std::optional<TuningSize> size = size_of(arguments, question);
  question.python = stack_python(packages_of(question.tuning));
  if (arguments.has("output")) check_writable(arguments.get("output"));
  const HeldSignals signals;
  Recipes recipes(question, signals);
  const int code = print_answer(arguments, question, size, recipes);
  return recipes.stopped() ? log_interrupted() : code;
}

}  // namespace

int run_finetune_command(int argc, char** argv) {
  return parse_and_run(finetune_command_line(), argc, argv, run_finetune);
}

}  // namespace headroom
