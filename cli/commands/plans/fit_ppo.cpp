#include "cli/commands/plans/fit_ppo.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "bench/launch/cell.h"
#include "bench/process/cores.h"
#include "bench/process/interrupt.h"
#include "bench/process/virtual_card.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/plans/fit_flags.h"
#include "cli/flags/runs/ppo_flags.h"
#include "cli/flags/runs/run_flags.h"
#include "cli/flags/setup_file.h"
#include "cli/log.h"
#include "cli/output.h"
#include "plan/fit/questions/capacity.h"
#include "plan/ppo/fit_report.h"
#include "profiling/theory/iteration.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kFit = "Search";
constexpr const char* kWorkload = "workload";

std::vector<Flag> fit_ppo_flags() {
  std::vector<Flag> flags = {
      {kWorkload, "WORD", "step (see headroom fit --help), or ppo for a PPO iteration", kFit},
      {"card", "CARD", "card name, as in headroom cards", kFit},
      {"bytes", "SIZE", "card memory instead of the real size, for example 20GiB", kFit},
      {"cost-order", "WORD,...", "techniques, most expensive first; all others keep their places",
       kFit},
      {"forbid", "WORD,...", "use all techniques but these", kFit}};
  for (Flag& flag : ppo_flags()) {
    const bool is_set_here = is_one_of(flag.name, {"device", "snapshot", "stacks", "max-entries"});
    if (!is_set_here) flags.push_back(std::move(flag));
  }
  for (Flag& flag : limit_flags()) flags.push_back(std::move(flag));
  flags.push_back({"format", "WORD", "table, csv, md, json (default table)", "Other"});
  return flags;
}

CommandLine fit_ppo_command_line() {
  return {"fit --workload ppo --card CARD --model-size NAME [flags]",
          "Finds the cheapest set of memory techniques with which a PPO iteration runs on a card.\n"
          "Theory proposes the answer and a virtual card tests it: the answer was run, and so was\n"
          "the smallest of the cheaper sets, which does not fit. Typed settings are not changed.",
          fit_ppo_flags()};
}

std::vector<RunTechnique> techniques_from(const Arguments& arguments, const PpoRun& base) {
  const CostOrder order = arguments.has("cost-order")
                              ? CostOrder("--cost-order", arguments.get("cost-order"))
                              : CostOrder();
  std::vector<std::string> typed;
  for (const auto& [name, value] : arguments.values) typed.push_back(name);
  std::vector<RunTechnique> techniques = ppo_techniques(base, order, typed);
  if (!arguments.has("forbid")) return techniques;
  const std::vector<Technique> forbidden = parse_techniques("--forbid", arguments.get("forbid"));
  std::erase_if(techniques, [&](const RunTechnique& one) {
    return std::find(forbidden.begin(), forbidden.end(), one.technique) != forbidden.end();
  });
  return techniques;
}

int64_t need_of(const PpoRun& run) {
  if (!not_rehearsed(run.shared, run.setup).empty()) return -1;
  int64_t most = 0;
  for (const PhasePeak& phase : predicted_iteration(run.shared, run.setup)) {
    most = std::max(most, phase.allocated);
  }
  return most;
}

Record run_one(const PpoRun& run, CellOptions options) {
  options.ppo = run.setup;
  Record record = run_cell(run.shared, options);
  const std::string peak = record.peak ? ", " + format_bytes(record.peak->allocated) : "";
  log_line(to_string(record.status) + peak + ": " + ppo_command(run));
  return record;
}

int fit_ppo(const Arguments& typed) {
  const Arguments arguments = with_setup_file(typed, fit_ppo_flags());
  const std::vector<FitCard> cards = fit_cards(arguments);
  if (cards.size() != 1) {
    throw UsageError("--card", arguments.get("card"), "names several cards; allowed here: one card",
                     "--card h100-80gb");
  }
  Arguments on_card = arguments;
  on_card.values["device"] = to_string(cards.front().device);
  PpoRun base = ppo_run_from(on_card);
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  base.shared.stacks = Stacks::kNone;
  CellOptions options = limits_from(arguments);
  options.workers = std::make_shared<WarmWorkers>(cores());
  const std::vector<RunTechnique> techniques = techniques_from(arguments, base);
  const int64_t capacity = capacity_of(cards.front().card);
  PpoFit found;
  {
    const InterruptGuard guard;
    found =
        cheapest_setup(base, techniques,
                       {.capacity = capacity,
                        .need = need_of,
                        .fits =
                            [&](const PpoRun& run) {
                              return iteration_rehearsed_to_fit(run.shared, run.setup, capacity);
                            },
                        .run = [&](const PpoRun& run) { return run_one(run, options); },
                        .stopped = interrupted});
  }
  std::vector<Table> tables = ppo_fit_report(found, cards.front().card);
  if (format == TableFormat::kJson && !tables.empty()) {
    tables.back().notes.push_back(in_words(found.questions));
  }
  print_tables(tables, format);
  if (found.stopped) return log_interrupted();
  if (!found.answer) log_error("nothing fits");
  return found.answer ? kExitOk : kExitAllFailed;
}

}  // namespace

bool asks_for_ppo(int argc, char** argv) {
  const std::string_view flag = "--workload";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return false;
    if (word == "--workload=ppo") return true;
    if (word == flag && i + 1 < argc && std::string_view(argv[i + 1]) == "ppo") return true;
  }
  return false;
}

int run_fit_ppo_command(int argc, char** argv) {
  return parse_and_run(fit_ppo_command_line(), argc, argv, fit_ppo);
}

}  // namespace headroom
