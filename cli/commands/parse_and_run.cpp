#include "cli/commands/parse_and_run.h"

#include "cli/exit_code.h"
#include "cli/flags/file_flags.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "text/wrap.h"

namespace headroom {

int parse_and_run(const CommandLine& line, const std::string& help, int argc,
                  const char* const* argv, const CommandBody& body) {
  Arguments arguments = line.parse(argc, argv);
  if (arguments.has("help")) {
    print(fitted(help, terminal_width()));
    return kExitOk;
  }
  const FileArguments files = name_files(line, arguments);
  check_apart(files.read, files.written);
  if (writes_stdout(files)) print_to_stderr();
  return body(arguments);
}

int parse_and_run(const CommandLine& line, int argc, const char* const* argv,
                  const CommandBody& body) {
  return parse_and_run(line, line.help(), argc, argv, body);
}

}  // namespace headroom
