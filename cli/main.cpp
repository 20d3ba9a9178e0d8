// headroom: selects the command, turns an error into one line and an exit code.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cell/machine/build_revision.h"
#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "text/quantity.h"
#include "text/words.h"
#include "text/wrap.h"

namespace headroom {
namespace {

int run_completion_command(int argc, char** argv);

constexpr std::array<NamedCommand, 18> kCommands = {{
    {"profile", "measure one configuration: peaks, breakdown, theory, snapshot",
     run_profile_command},
    {"sweep", "measure a grid of configurations, one process per cell, resumable",
     run_sweep_command},
    {"table", "print tables from saved Records", run_table_command},
    {"theory", "compute every tensor a configuration keeps, without running it",
     run_theory_command},
    {"fit", "find settings that fit a card, each answer proved by running it", run_fit_command},
    {"dryrun", "run any program that uses CUDA through PyTorch on a card you do not have",
     run_dryrun_command},
    {"finetune", "run the fine-tuning of a public model on a card: does it fit, and what would",
     run_finetune_command},
    {"serve", "start vLLM or SGLang on a card: memory of the weights, tokens of the cache",
     run_serve_command},
    {"ppo", "measure PPO iterations phase by phase and compare with computed memory",
     run_ppo_command},
    {"rlhf", "compute the memory of an RLHF iteration by phase; find a set-up that fits",
     run_rlhf_command},
    {"budget", "compute the memory of an inference engine (vLLM) and the rest for training",
     run_budget_command},
    {"report", "write one HTML file of snapshots and Records, which opens offline",
     run_report_command},
    {"plot", "draw one figure of Records: a measured figure against a setting", run_plot_command},
    {"snapshot", "read memory_viz snapshots: top, validate, diff", run_snapshot_command},
    {"compare", "compare two sets of Records, two snapshots or two commands, with a verdict",
     run_compare_command},
    {"cards", "list the known cards: memory, bandwidth, peak rates", run_cards_command},
    {"doctor", "check this machine: what it has and lacks, and the commands that repair it",
     run_doctor_command},
    {"completion", "completion for bash and zsh, and manual pages", run_completion_command},
}};

int run_completion_command(int argc, char** argv) {
  return run_completion(kCommands, HEADROOM_VERSION, argc, argv);
}

// Versions at build time: libtorch is not loaded for it.
std::string version() {
  return "headroom " HEADROOM_VERSION "\ncommit " + build_revision() + " (" + build_settings() +
         ")\nlibtorch " HEADROOM_LIBTORCH ", CUDA " HEADROOM_CUDA "\n";
}

std::string help() {
  std::string text =
      "headroom: how long a transformer's step takes, how much memory it needs and where it "
      "goes.\n\nUsage: headroom COMMAND [flags]\nHelp: headroom COMMAND --help, or headroom help "
      "COMMAND\n\nCommands\n";
  for (const NamedCommand& command : kCommands) {
    const std::string name = command.name;
    text += "  " + name + std::string(12 - name.size(), ' ') + command.help + "\n";
  }
  return text + "\n  --version, --help\n\n" + kExitCodesHelp;
}

// Throws UsageError with the nearest name and all of them.
const NamedCommand& command_of(const std::string& word, const char* example) {
  std::vector<std::string> names;
  for (const NamedCommand& command : kCommands) names.emplace_back(command.name);
  if (word.empty())
    throw UsageError("a command is needed: " + join(names) + " (example: headroom --help)");
  check_name("command", word, names, example);
  return *std::find_if(kCommands.begin(), kCommands.end(),
                       [&](const NamedCommand& command) { return word == command.name; });
}

// `headroom help sweep` is `headroom sweep --help`.
int dispatch_help(std::string word) {
  std::string flag = "--help";
  std::array<char*, 3> words = {word.data(), flag.data(), nullptr};
  return command_of(word, "headroom help profile").run(2, words.data());
}

int dispatch(int argc, char** argv) {
  const std::string word = argc < 2 ? "" : argv[1];
  if (word == "--help" || word == "-h" || (word == "help" && argc == 2)) {
    print(fitted(help(), terminal_width()));
    return kExitOk;
  }
  const bool is_version = word == "--version" || (argc == 3 && std::string(argv[2]) == "--version");
  if (is_version) {
    print(fitted(version(), terminal_width()));
    return kExitOk;
  }
  if (word == "help") return dispatch_help(argv[2]);
  return command_of(word, "headroom profile --model-size small").run(argc - 1, argv + 1);
}

// Shortens a message: it may repeat typed text of any length.
std::string brief(std::string message) {
  constexpr size_t kMost = 2000;  // bytes
  constexpr size_t kEnd = 500;    // with the allowed values
  if (message.size() <= kMost) return message;
  return message.substr(0, kMost - kEnd) + " [...] " + message.substr(message.size() - kEnd);
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  headroom::hold_standard_descriptors();
  headroom::survive_failed_writes();
  try {
    return headroom::dispatch(argc, argv);
  } catch (const headroom::UsageError& error) {
    headroom::log_error(headroom::brief(error.what()));
    return headroom::kExitUsage;
  } catch (const std::exception& error) {
    headroom::log_error(headroom::brief(error.what()));
    return headroom::kExitEnvironment;
  }
}
