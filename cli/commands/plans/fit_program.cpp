#include "cli/commands/plans/fit_program.h"

#include <algorithm>
#include <cmath>

#include "bench/dryrun/dryrun.h"
#include "bench/dryrun/program.h"
#include "bench/launch/preparation/alloc_confs.h"
#include "cli/commands/runs/tried_runs.h"
#include "cli/exit_code.h"
#include "cli/log.h"
#include "cli/output.h"
#include "plan/fit/vary.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

DryRun request_of(const Arguments& arguments, const std::vector<std::string>& words) {
  static const std::vector<std::string> kTaken = {"vary",   "card",       "bytes",
                                                  "format", "alloc-conf", "skip-host-init"};
  for (const auto& [name, value] : arguments.values) {
    if (is_one_of(name, kTaken)) continue;
    throw UsageError("--" + name, value,
                     "applies to headroom's own runs only, and --vary runs your program; allowed "
                     "with --vary: --card, --bytes, --alloc-conf, --skip-host-init, --format",
                     kVaryCommand);
  }
  if (words.empty()) {
    throw UsageError(std::string("--vary: a program is needed after the flags and --; example: ") +
                     kVaryCommand);
  }
  if (!arguments.has("card")) {
    throw UsageError(std::string("--card is needed; example: ") + kVaryCommand);
  }
  DryRun request;
  request.card = virtual_card({"--card", "--bytes", "--card rtx4090 --bytes 20GiB"},
                              arguments.get("card"), arguments.get("bytes"));
  request.skip_host_init = arguments.has("skip-host-init");
  request.words = words;
  return request;
}

}  // namespace

int fit_program(const Arguments& arguments, const std::vector<std::string>& words) {
  const DryRun request = request_of(arguments, words);
  const Vary vary = parse_vary(arguments.get("vary"), words);
  check_can_preload(find_program(with_value(words, vary, vary.range.least).front()));
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  std::vector<std::string> confs = {arguments.get("alloc-conf")};
  if (!arguments.has("alloc-conf")) {
    confs.insert(confs.end(), tried_alloc_confs().begin(), tried_alloc_confs().end());
  }
  const double range = static_cast<double>(vary.range.most - vary.range.least + 1);
  const auto halvings = static_cast<size_t>(std::ceil(std::log2(range)));
  const HeldSignals signals;
  TriedRuns runs(signals, 2 * halvings + confs.size());
  const auto run = [&](int64_t value, const std::string& conf) {
    DryRun one = request;
    one.words = with_value(words, vary, value);
    one.alloc_conf = conf;
    return runs.run(one,
                    vary.name + " " + std::to_string(value) + (conf.empty() ? "" : ", " + conf));
  };
  const VaryResult result = search_vary(vary, confs, run, [&] { return runs.stopped(); });
  log_status("");
  print_tables({vary_table(vary, result, request.card.card.name)}, format);
  for (const std::string& failure : result.failures)
    log_error("failed for another reason than memory: " + failure);
  if (result.stopped) return log_interrupted();
  const bool found = std::any_of(result.answers.begin(), result.answers.end(),
                                 [](const VaryAnswer& answer) { return answer.largest > 0; });
  if (!found && result.failures.empty()) {
    log_error("nothing fits: " + vary.name + " " + std::to_string(vary.range.least) + ": " +
              result.answers.front().beyond->reason);
  }
  if (!found) return kExitAllFailed;
  return result.failures.empty() ? kExitOk : kExitSomeFailed;
}

}  // namespace headroom
