// headroom fit: finds what fits a card, and the changes for it; each answer is proved by a run.
#include <algorithm>
#include <string_view>

#include "bench/launch/ranks/ranks.h"
#include "bench/process/cores.h"
#include "bench/process/interrupt.h"
#include "bench/sweep/remembered_cells.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/commands/plans/fit_ppo.h"
#include "cli/commands/plans/fit_program.h"
#include "cli/exit_code.h"
#include "cli/flags/plans/fit_flags.h"
#include "cli/flags/runs/run_flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "files/atomic_file.h"
#include "plan/fit/answers/drawing.h"
#include "plan/fit/answers/report.h"
#include "plan/fit/questions/fit_oracle.h"
#include "plan/fit/vary.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/offload/disk/places.h"

namespace headroom {
namespace {

// A search alternates between two sizes of a card and two allocator settings.
constexpr size_t kKindsOfWorkers = 4;

CommandLine fit_command_line() {
  return {
      "fit --card CARD --model-size NAME [flags]",
      "Finds settings that fit a card: the largest batch or context with each set of memory\n"
      "techniques, the cheapest sets for a batch and context, or the smallest card of a list;\n"
      "with --gpus the meshes of several cards. Theory proposes the answers and a virtual card\n"
      "tests them: every answer was run, and one step beyond it was run and does not fit. With\n"
      "--vary and a program after -- it finds the largest value with which the program runs.",
      fit_flags(), true};
}

// Searches for the smallest card on which something fits; otherwise the last.
FitFound found_on(const std::vector<FitCard>& cards, const FitQuestion& question, AskedCard& asked,
                  RememberedCells& cells, const FitProgress& progress) {
  FitFound found{.question = question};
  for (const FitCard& card : cards) {
    found.card = card.card;
    found.question.base.device = card.device;
    found.result =
        search_fit(found.question, judge_on(card.card, question, asked, cells, progress));
    const bool is_last = &card == &cards.back();
    if (is_last || !found.result.nearest || found.result.stopped) break;
    found.smaller.push_back(card.card);
    found.of_smaller.push_back(found.result);
  }
  return found;
}

int exit_code_of(const FitResult& result) {
  if (result.stopped) return kExitInterrupted;
  if (!result.answers.empty()) return kExitOk;
  return kExitAllFailed;
}

// One line on stderr, in every format.
void tell_why_nothing(const FitFound& found) {
  if (found.result.stopped) return log_error("interrupted");
  if (!found.result.answers.empty()) return;
  log_error(found.result.nearest ? "nothing fits: " + nothing_fits(found)
                                 : "no set of techniques was tested");
}

CellOptions cell_options(const Arguments& arguments, const FitQuestion& question) {
  CellOptions options = limits_from(arguments);
  options.workers = std::make_shared<WarmWorkers>(kKindsOfWorkers * cores());
  options.forks = forks_of_cells();
  options.virtual_host_memory_bytes = host_limit_of_a_rank(question).value_or(0);
  options.on_talk = log_line;
  return options;
}

int fit(const Arguments& arguments) {
  check_choice("--workload", arguments.get("workload", "step"), {"step", "ppo"}, "--workload ppo");
  const std::vector<FitCard> cards = fit_cards(arguments);
  const FitQuestion question = fit_question(arguments, cards);
  const std::string format = arguments.get("format", "table");
  const TableFormat table_format = parse_table_format("--format", format);
  const std::string output = arguments.get("output");
  if (!output.empty()) check_writable(output);
  if (!question.disk.empty()) {
    const Offload to_disk{.space = MemorySpace::kDisk, .directory = question.disk};
    check_disk_places(
        {{.param_offload = to_disk, .optimizer_offload = to_disk, .device = cards.front().device}});
  }
  const CellOptions options = cell_options(arguments, question);
  check_alloc_confs({question.base}, options);
  FitProgress progress{.on_line = log_line, .on_status = {}};
  if (shows_status()) progress.on_status = log_status;
  FitFound found;
  {
    const InterruptGuard guard;
    try {
      RememberedCells cells(options, question.base, arguments.get("records"), log_line);
      AskedCard asked(options);
      found = found_on(cards, question, asked, cells, progress);
      if (cells.reused() > 0) {
        log_line(std::to_string(cells.reused()) + " cells were in " + arguments.get("records"));
      }
    } catch (const NoCellRuns& error) {
      log_error(error.what());
      return error.of_environment ? kExitEnvironment : kExitAllFailed;
    } catch (const std::runtime_error&) {
      if (!interrupted()) throw;  // before the first cell
      return log_interrupted();
    }
  }
  log_status("");
  if (!output.empty() && !found.result.answers.empty()) {
    write_file_atomically(output, fit_svg(fit_document(found)));
  }
  if (table_format == TableFormat::kJson) {
    print(fit_document(found).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    print_tables(fit_report(found), table_format);
  }
  tell_why_nothing(found);
  return exit_code_of(found.result);
}

}  // namespace

int run_fit_command(int argc, char** argv) {
  if (asks_for_ppo(argc, argv)) return run_fit_ppo_command(argc, argv);
  const SplitWords words = split_at_dashes(argc, argv);
  const auto body = [&](const Arguments& arguments) {
    if (!arguments.positional.empty()) refuse_argument(arguments.positional.front());
    if (arguments.has("vary")) return fit_program(arguments, words.rest);
    if (!words.rest.empty()) {
      throw UsageError(
          std::string(
              "--vary is needed with a program: it names the value to maximize; example: ") +
          kVaryCommand);
    }
    return fit(arguments);
  };
  return parse_and_run(fit_command_line(), static_cast<int>(words.flags.size()), words.flags.data(),
                       body);
}

}  // namespace headroom
