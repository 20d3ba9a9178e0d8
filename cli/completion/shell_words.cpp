#include "cli/completion/shell_words.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cards/cards.h"
#include "plan/recipes/model_shape.h"
#include "text/words.h"

namespace headroom {
namespace {

std::vector<std::string> card_names() {
  std::vector<std::string> names;
  for (const Card& card : cards()) names.push_back(card.name);
  return names;
}

std::vector<std::string> device_words() {
  std::vector<std::string> words = {"auto", "cpu", "cuda"};
  for (const std::string& name : card_names()) words.push_back("virtual:" + name);
  return words;
}

// A value as typed: no placeholder ("every:K") and no prose.
bool is_plain_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' || c == '.' ||
           c == 'B';  // "2.7B"
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_plain);
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

// A list in one clause of a help text. Empty if it is prose.
std::vector<std::string> listed_words(const std::string& clause) {
  std::vector<std::string> words;
  std::istringstream stream(clause);
  for (std::string word; std::getline(stream, word, ',');) {
    word = trimmed(word);
    const std::string name = word.substr(0, word.find_first_of(" :"));
    if (word.find_first_of(" :") == std::string::npos && is_plain_word(word)) {
      words.push_back(word);
    } else if (words.empty() || name.empty()) {
      return {};  // prose, not the end of a list that has a placeholder
    }
  }
  return words.size() > 1 ? words : std::vector<std::string>{};
}

}  // namespace

std::vector<DescribedCommand> describe_all(std::span<const NamedCommand> commands) {
  std::vector<DescribedCommand> all;
  for (const NamedCommand& command : commands) {
    all.push_back({command, describe(command.name, command.run)});
  }
  return all;
}

std::vector<std::string> value_words(const Flag& flag) {
  if (flag.value.empty() || flag.file != FileUse::kNone) return {};
  if (flag.name == "card") return card_names();
  if (flag.name == "device") return device_words();
  if (flag.name == "config") return shape_names();
  // The last clause that is a list: "precision with FP32 weights; ...: fp32, bf16 (default fp32)".
  std::string text = flag.help.substr(0, flag.help.find('('));
  for (const char* separator : {": ", "; "}) {
    std::vector<std::string> found;
    size_t begin = 0;
    while (begin != std::string::npos) {
      const size_t end = text.find(separator, begin);
      const std::string clause = text.substr(begin, end - begin);
      if (auto words = listed_words(clause.substr(0, clause.find("; "))); !words.empty()) {
        found = std::move(words);
      }
      begin = end == std::string::npos ? end : end + 2;
    }
    if (!found.empty()) return found;
  }
  return {};
}

bool takes_list(const Flag& flag) { return flag.value.ends_with(",..."); }

std::vector<std::string> first_words(const DescribedCommand& command) {
  const std::string name = command.command.name;
  if (name == "cards") return card_names();
  const std::string begin = "headroom " + name + " ";
  std::vector<std::string> words;
  std::istringstream lines(command.description.help);
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(line);
    if (!line.starts_with(begin)) continue;
    const std::string first =
        line.substr(begin.size(), line.find(' ', begin.size()) - begin.size());
    std::istringstream choices(first);
    for (std::string word; std::getline(choices, word, '|');) {
      if (is_plain_word(word) && !word.starts_with("-")) words.push_back(word);
    }
  }
  return words;
}

}  // namespace headroom
