#include "cli/commands/parse_and_run.h"

#include "cli/exit_code.h"
#include "cli/output.h"

namespace headroom {

int parse_and_run(const CommandLine& line, const std::string& help, int argc,
                  const char* const* argv, const CommandBody& body) {
  const Arguments arguments = line.parse(argc, argv);
  if (!arguments.has("help")) return body(arguments);
  print(help);
  return kExitOk;
}

int parse_and_run(const CommandLine& line, int argc, const char* const* argv,
                  const CommandBody& body) {
  return parse_and_run(line, line.help(), argc, argv, body);
}

}  // namespace headroom
