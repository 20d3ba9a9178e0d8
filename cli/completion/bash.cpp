// Note [Completion in bash]
// Rationale: bash splits the words of a command line at "=" and ":", which our values contain
//   ("--device=virtual:h200"), and replaces the last piece only.
// Approach: the script splits the line itself, at spaces, and removes from each answer the part
// that
//   bash does not replace. It needs bash 4 and nothing else.
// Limits: words that are quoted, and have spaces inside, are taken apart.
#include <map>

#include "cli/completion/scripts.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kBashFunction = R"bash(
_headroom() {
  local line=${COMP_LINE:0:COMP_POINT} words='' value flag before list=no word
  local -a typed
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  local count=${#typed[@]} command=${typed[1]-}
  value=${typed[count - 1]}
  COMPREPLY=()
  for word in "${typed[@]:1:count-2}"; do
    # The words of another program.
    if [[ $word == -- ]]; then
      compopt -o default 2>/dev/null
      return
    fi
  done
  if ((count == 2)); then
    words=$(_headroom_first '')
  elif [[ $command == help ]]; then
    ((count > 3)) || words=$(_headroom_first '')
  else
    if [[ $value == --*=* ]]; then
      flag=${value%%=*} value=${value#*=}
    elif [[ ${typed[count - 2]} == --* && $value != -* ]]; then
      flag=${typed[count - 2]}
    fi
    words=$(_headroom_values "$command:${flag-}")
    if [[ -z $words && $value == -* ]]; then
      words=$(_headroom_flags "$command")
    elif [[ -z $words ]] && ((count == 3)); then
      words=$(_headroom_first "$command")
    fi
  fi
  if [[ -z $words ]]; then
    compopt -o default 2>/dev/null
    return
  fi
  # The shell completes the last element of a list.
  before=''
  [[ $words == ,* ]] && list=yes words=${words#,}
  if [[ $list == yes && $value == *,* ]]; then
    before=${value%,*}, value=${value##*,}
  fi
  local whole=$before$value
  local kept=${whole%"${whole##*[:=]}"}
  while IFS= read -r word; do
    word=$before$word
    COMPREPLY+=("${word#"$kept"}")
  done < <(compgen -W "$words" -- "$value")
}

complete -F _headroom headroom
)bash";

// One branch of a case statement for all keys with the same words.
std::string case_function(const std::string& name,
                          const std::vector<std::pair<std::string, std::string>>& words_of_keys) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& [key, words] : words_of_keys) {
    if (words.empty()) continue;
    if (keys[words].empty()) order.push_back(words);
    keys[words].push_back(key);
  }
  std::string text = name + "() {\n  case $1 in\n";
  for (const std::string& words : order) {
    text += "    " + join(keys[words], " | ") + ") echo '" + words + "' ;;\n";
  }
  return text + "  esac\n}\n";
}

}  // namespace

std::string bash_completion(const std::vector<DescribedCommand>& commands) {
  using Branches = std::vector<std::pair<std::string, std::string>>;
  std::vector<std::string> names = {"help", "--help", "--version"};
  Branches first;
  Branches flags;
  Branches values;
  for (const DescribedCommand& command : commands) {
    const std::string name = command.command.name;
    names.push_back(name);
    first.emplace_back(name, join(first_words(command), " "));
    std::vector<std::string> of_command;
    for (const Flag& flag : command.description.line.flags()) {
      of_command.push_back("--" + flag.name);
      const std::string words = join(value_words(flag), " ");
      values.emplace_back(name + ":--" + flag.name,
                          words.empty() || !takes_list(flag) ? words : "," + words);
    }
    flags.emplace_back(name, join(of_command, " "));
  }
  first.insert(first.begin(), {"''", join(names, " ")});
  return "# Completion of headroom in bash, written by `headroom completion bash`.\n" +
         case_function("_headroom_first", first) + case_function("_headroom_flags", flags) +
         "# A comma in front: a list of them, separated by commas.\n" +
         case_function("_headroom_values", values) + kBashFunction;
}

}  // namespace headroom
