#include "cli/commands/parse_and_run.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "cli/exit_code.h"
#include "cli/flags/file_flags.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "text/quantity.h"
#include "text/wrap.h"

namespace headroom {
namespace {

// An example without flags unknown to this command, and their values: a step's rules mention
// --profile-type, which a command with one mode lacks. An example of a whole command is unchanged.
std::string known_part(const std::string& example, const std::vector<Flag>& flags) {
  if (!example.starts_with("--")) return example;
  std::string kept;
  bool is_known = true;
  std::istringstream words(example);
  for (std::string word; words >> word;) {
    if (word.starts_with("--")) {
      const std::string name = word.substr(2, word.find('=') - 2);
      is_known = std::any_of(flags.begin(), flags.end(),
                             [&](const Flag& flag) { return flag.name == name; });
    }
    if (is_known) kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

}  // namespace

int parse_and_run(const CommandLine& line, const std::string& help, int argc,
                  const char* const* argv, const CommandBody& body) {
  try {
    Arguments arguments = line.parse(argc, argv);
    if (arguments.has("help")) {
      print(fitted(help, terminal_width()));
      return kExitOk;
    }
    const FileArguments files = name_files(line, arguments);
    check_apart(files.read, files.written);
    if (writes_stdout(files)) print_to_stderr();
    return body(arguments);
  } catch (const UsageError& error) {
    throw error.with_example(known_part(error.example(), line.flags()));
  }
}

int parse_and_run(const CommandLine& line, int argc, const char* const* argv,
                  const CommandBody& body) {
  return parse_and_run(line, line.help(), argc, argv, body);
}

SplitWords split_at_dashes(int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  return {{argv, dashes}, {dashes == end ? end : dashes + 1, end}};
}

}  // namespace headroom
