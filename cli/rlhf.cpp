// headroom rlhf: the memory of an RLHF iteration, phase by phase, computed.
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/rlhf_flags.h"
#include "plan/rlhf_report.h"

namespace headroom {

int run_rlhf_command(int argc, char** argv) {
  const CommandLine line("rlhf --model-size NAME [flags]",
                         "Memory of one RLHF iteration per GPU: generation, scoring, training.",
                         rlhf_flags());
  const Arguments arguments = line.parse(argc, argv);
  if (arguments.has("help")) {
    print(line.help());
    return kExitOk;
  }
  const RlhfSpec spec = rlhf_spec_from(arguments);
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  print(to_string(rlhf_report(spec), format));
  return kExitOk;
}

}  // namespace headroom
