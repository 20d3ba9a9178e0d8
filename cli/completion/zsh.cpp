#include "cli/completion/scripts.h"
#include "text/words.h"

namespace headroom {
namespace {

// For single quotes: the characters that _arguments and _describe read are escaped.
std::string quoted_for_zsh(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      quoted += std::string("\\") + c;
    } else {
      quoted += c == '\n' ? ' ' : c;
    }
  }
  return quoted;
}

std::string action_of(const Flag& flag) {
  const std::vector<std::string> words = value_words(flag);
  if (words.empty()) return "_files";
  return takes_list(flag) ? "_sequence compadd - " + quoted_for_zsh(join(words, " "))
                          : "compadd - " + quoted_for_zsh(join(words, " "));
}

// '--precision=[help]:WORD:compadd - fp32 bf16'
std::string zsh_argument(const Flag& flag) {
  std::string text = "      '--" + flag.name;
  const std::string help = "[" + quoted_for_zsh(flag.help) + "]";
  if (flag.value.empty()) return text + help + "'";
  const bool alone = !flag.alone.empty();  // then the value comes after "=" only
  text += (alone ? "=-" : "=") + help + (alone ? "::" : ":") + quoted_for_zsh(flag.value) + ":";
  const std::string action = action_of(flag);
  return text + (action.starts_with("compadd") ? " " : "") + action + "'";
}

}  // namespace

std::string zsh_completion(const std::vector<DescribedCommand>& commands) {
  std::string list;
  std::string branches;
  for (const DescribedCommand& command : commands) {
    const std::string name = command.command.name;
    list += "    '" + name + ":" + quoted_for_zsh(command.command.help) + "'\n";
    branches += "    " + name + ")\n      _arguments \\\n";
    for (const Flag& flag : command.description.line.flags()) {
      branches += zsh_argument(flag) + " \\\n";
    }
    const std::vector<std::string> first = first_words(command);
    if (!first.empty()) branches += "      '1:first word: compadd - " + join(first, " ") + "' \\\n";
    branches += "      '*:file:_files' ;;\n";
  }
  return "#compdef headroom\n"
         "# Completion of headroom in zsh, written by `headroom completion zsh`.\n"
         "_headroom() {\n  local -a commands=(\n" +
         list +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  if [[ ${words[(I)--]} -gt 0 && ${words[(I)--]} -lt $CURRENT ]]; then\n"
         "    _files  # the words of another program\n"
         "    return\n"
         "  fi\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n"
         "    help) _describe command commands ;;\n" +
         branches +
         "  esac\n"
         "}\n"
         // Loaded by fpath it is the function's own body; by eval it registers itself.
         "if [[ $funcstack[1] == _headroom ]]; then\n"
         "  _headroom \"$@\"\n"
         "else\n"
         "  compdef _headroom headroom\n"
         "fi\n";
}

}  // namespace headroom
