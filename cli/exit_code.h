// The program's exit codes.
#pragma once

namespace headroom {

enum ExitCode {
  kExitOk = 0,
  kExitUsage = 2,        // an error in the command line
  kExitSomeFailed = 3,   // the sweep ended, some cells failed
  kExitBadFile = 3,      // a snapshot that does not open
  kExitAllFailed = 4,    // no cell gave a result; fit, rlhf, budget: nothing fits
  kExitEnvironment = 5,  // no device, no space, not writable
  kExitInterrupted = 130,
};

inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 ok; 2 usage; 3 some cells failed; 4 all cells failed, or\n"
    "  nothing fits (fit, rlhf, budget); 5 environment (no such device, no space, not writable);\n"
    "  130 interrupted.\n";

}  // namespace headroom
