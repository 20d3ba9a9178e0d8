// The commands of the program. argv[0] is the command's own name; the result is the exit code.
// They throw UsageError (exit 2) and std::runtime_error (exit 5); main() prints the line.
#pragma once

#include <span>

namespace headroom {

struct NamedCommand {
  const char* name;
  const char* help;
  int (*run)(int argc, char** argv);
};

// It is given all of them, itself too, and the program's version.
int run_completion(std::span<const NamedCommand> commands, const char* version, int argc,
                   char** argv);

int run_budget_command(int argc, char** argv);
int run_cards_command(int argc, char** argv);
int run_compare_command(int argc, char** argv);
int run_doctor_command(int argc, char** argv);
int run_dryrun_command(int argc, char** argv);
int run_finetune_command(int argc, char** argv);
int run_fit_command(int argc, char** argv);
int run_plot_command(int argc, char** argv);
int run_ppo_command(int argc, char** argv);
int run_profile_command(int argc, char** argv);
int run_report_command(int argc, char** argv);
int run_rlhf_command(int argc, char** argv);
int run_serve_command(int argc, char** argv);
int run_snapshot_command(int argc, char** argv);
int run_sweep_command(int argc, char** argv);
int run_table_command(int argc, char** argv);
int run_theory_command(int argc, char** argv);

}  // namespace headroom
