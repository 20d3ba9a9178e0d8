// headroom completion bash|zsh|man|install: files that shells and man read, made from the flags.
#include <algorithm>
#include <deque>

#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/completion/scripts.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "files/directory.h"
#include "files/replace_file.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

const std::vector<std::string> kCompletionVerbs = {"bash", "zsh", "man", "install"};

CommandLine completion_command_line() {
  return {
      "completion bash|zsh|man|install [ARGUMENT]",
      "Prints a completion script for bash or zsh, or the manual page of headroom; man COMMAND\n"
      "prints that of a command. install FOLDER writes all of them below FOLDER/share, where the\n"
      "shells and man look if FOLDER is /usr, /usr/local or ~/.local.",
      {},
      true};
}

std::string page_of(const std::vector<DescribedCommand>& all, const std::string& word,
                    const std::string& version) {
  std::vector<std::string> names;
  for (const DescribedCommand& one : all) names.emplace_back(one.command.name);
  check_name("command", word, names, "headroom completion man profile");
  return manual_page(
      *std::find_if(all.begin(), all.end(),
                    [&](const DescribedCommand& one) { return one.command.name == word; }),
      version);
}

// All files or, on a full disk, none of them.
void install_below(const std::string& folder, const std::vector<DescribedCommand>& all,
                   const std::string& version) {
  std::deque<ReplaceFile> files;
  const auto write = [&](const std::string& path, const std::string& name,
                         const std::string& text) {
    const std::string target = in_directory(folder, path);
    make_directories(target);
    files.emplace_back(in_directory(target, name)).write(text.data(), text.size());
  };
  write("share/bash-completion/completions", "headroom", bash_completion(all));
  write("share/zsh/site-functions", "_headroom", zsh_completion(all));
  constexpr const char* kPages = "share/man/man1";
  write(kPages, "headroom.1", manual_page(all, version));
  for (const DescribedCommand& one : all) {
    write(kPages, std::string("headroom-") + one.command.name + ".1", manual_page(one, version));
  }
  for (ReplaceFile& file : files) file.commit();
}

int print_completion(const Arguments& arguments, std::span<const NamedCommand> commands,
                     const std::string& version) {
  const std::vector<std::string>& words = arguments.positional;
  constexpr const char* kExample = "headroom completion bash";
  if (words.empty()) {
    throw UsageError("completion needs a word: " + join(kCompletionVerbs) +
                     "; example: " + kExample);
  }
  const std::string& verb = words.front();
  check_name("completion", verb, kCompletionVerbs, kExample);
  const size_t most = verb == "man" || verb == "install" ? 2 : 1;
  if (words.size() > most) refuse_argument(words[most]);
  if (verb == "install" && words.size() < 2) {
    throw UsageError(
        "completion install needs a folder; example: headroom completion install ~/.local");
  }
  const std::vector<DescribedCommand> all = describe_all(commands);
  if (verb == "bash") print(bash_completion(all));
  if (verb == "zsh") print(zsh_completion(all));
  if (verb == "man")
    print(words.size() > 1 ? page_of(all, words[1], version) : manual_page(all, version));
  if (verb == "install") install_below(words[1], all, version);
  return kExitOk;
}

}  // namespace

int run_completion(std::span<const NamedCommand> commands, const char* version, int argc,
                   char** argv) {
  const auto body = [&](const Arguments& arguments) {
    return print_completion(arguments, commands, version);
  };
  return parse_and_run(completion_command_line(), argc, argv, body);
}

}  // namespace headroom
