// The program's exit codes.
#pragma once

namespace headroom {

enum ExitCode {
  kExitOk = 0,
  kExitOverBudget = 1,   // the user's limit was crossed: --max-peak, --fail-on
  kExitUsage = 2,        // an error in the command line
  kExitSomeFailed = 3,   // the sweep ended, some cells failed
  kExitBadFile = 3,      // a snapshot that does not open, or two that differ
  kExitAllFailed = 4,    // no cell gave a result; fit, finetune, serve, rlhf, budget: nothing fits
  kExitEnvironment = 5,  // no device, no space, not writable
  kExitInterrupted = 130,
};

inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 ok; 1 --max-peak or --fail-on was crossed; 2 usage; 3 some cells failed;\n"
    "  4 all cells failed, or nothing fits (fit, finetune, serve, rlhf, budget); 5 environment\n"
    "  (no such device, no space, not writable); 130 interrupted.\n";

}  // namespace headroom
