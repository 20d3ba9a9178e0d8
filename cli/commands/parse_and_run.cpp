#include "cli/commands/parse_and_run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>

#include "cli/commands/examples.h"
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

std::optional<CommandDescription>* described = nullptr;  // where describe() wants it

// They are never folded: each can be pasted.
std::string examples_text(const std::string& command) {
  std::string text;
  for (const std::string& example : examples_of(command)) text += "  " + example + "\n";
  return text.empty() ? "" : "Examples\n" + text + "\n";
}

}  // namespace

CommandDescription describe(const std::string& name, int (*run)(int argc, char** argv)) {
  std::optional<CommandDescription> description;
  described = &description;
  std::string word = name;
  std::array<char*, 2> words = {word.data(), nullptr};
  run(1, words.data());
  described = nullptr;
  return description.value();
}

int parse_and_run(const CommandLine& line, const std::string& help, int argc,
                  const char* const* argv, const CommandBody& body) {
  if (described != nullptr) {
    described->emplace(line, help);
    return kExitOk;
  }
  try {
    Arguments arguments = line.parse(argc, argv);
    if (arguments.has("help")) {
      print(examples_text(line.command()) + fitted(help, terminal_width()));
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
