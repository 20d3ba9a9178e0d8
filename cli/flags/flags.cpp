#include "cli/flags/flags.h"

#include <algorithm>
#include <set>

// The flag library's regular expressions recurse once per byte: a word of 20,000 bytes would crash
// the program. Its other parser, for compilers without <regex>, accepts the same words.
#define CXXOPTS_NO_REGEX true
#include <cxxopts.hpp>

#include "cli/exit_code.h"
#include "cli/flags/flag_example.h"
#include "cli/log.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/settings/spec.h"

namespace headroom {
namespace {

const std::string kOn = "true";

bool asks_for_help(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* argument) {
    return std::string_view(argument) == "--help" || std::string_view(argument) == "-h";
  });
}

// The number of arguments after a lone "--": they are always positional.
size_t count_after_dashes(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") return static_cast<size_t>(argc - i - 1);
  }
  return 0;
}

// The typed word: the flag library splits "-odd" into -o -d -d.
std::string typed_word(const std::string& unmatched, int argc, const char* const* argv) {
  const auto word = std::find_if(argv + 1, argv + argc, [&](const char* argument) {
    return std::string_view(argument).starts_with(unmatched);
  });
  return word == argv + argc ? unmatched : *word;
}

// True if the command has a step's settings. It may lack one of them; a similar name is no hint
// then.
bool has_settings_of_a_step(const std::vector<Flag>& flags) {
  return std::any_of(flags.begin(), flags.end(),
                     [](const Flag& flag) { return flag.name == "context-length"; });
}

[[noreturn]] void refuse_unknown(const std::string& argument, const std::vector<Flag>& flags) {
  const std::string typed = argument.substr(0, argument.find('='));
  if (has_settings_of_a_step(flags) && find_flag(typed) != nullptr) {
    throw UsageError("unknown option " + typed +
                     ": headroom profile has it, this command does not (example: headroom profile "
                     "--help)");
  }
  std::vector<std::string> names;
  names.reserve(flags.size());
  for (const Flag& flag : flags) names.push_back("--" + flag.name);
  refuse_option(typed, names);
}

void check_value(const Flag& flag, const std::string& value) {
  const std::string name = "--" + flag.name;
  if (flag.value.empty()) {
    if (value != kOn)
      throw UsageError(name, value, "is not allowed: the flag is a switch", example_of(flag));
  } else if (value.starts_with("--")) {
    throw UsageError(name, value, "is a flag, not a value: " + name + " needs " + flag.value,
                     example_of(flag));
  }
  check_not_empty(flag, value);
}

// The flag of this name, without dashes; nullptr if there is none.
const Flag* find_flag_named(const std::vector<Flag>& flags, std::string_view name) {
  const auto flag = std::find_if(flags.begin(), flags.end(),
                                 [&](const Flag& candidate) { return candidate.name == name; });
  return flag == flags.end() ? nullptr : &*flag;
}

// `word`: the last one, a flag without its value.
[[noreturn]] void refuse_no_value(const std::string& word, const std::vector<Flag>& flags) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& candidate) {
    return word == "--" + candidate.name || word == "-" + candidate.letter;
  });
  const Flag* const flag = found == flags.end() ? nullptr : &*found;
  const std::string example = flag == nullptr ? "" : example_of(*flag);
  throw UsageError(word + ": needs a value" +
                   (example.empty() ? "" : " (example: " + example + ")"));
}

// The words with other spellings of flags replaced; an old one is reported once.
std::vector<std::string> current_words(const std::vector<Flag>& flags, int argc,
                                       const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  std::set<std::string> told;
  for (std::string& word : words) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const size_t end = word.find('=');
    const std::string name = word.substr(2, end == std::string::npos ? end : end - 2);
    const auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag& candidate) {
      return candidate.old_name == name || candidate.other_name == name;
    });
    if (name.empty() || flag == flags.end()) continue;
    if (flag->old_name == name && told.insert(name).second) {
      log_line("headroom: " + renamed("--" + name, "--" + flag->name));
    }
    word = "--" + flag->name + (end == std::string::npos ? "" : word.substr(end));
  }
  return words;
}

cxxopts::ParseResult parse_words(const std::vector<Flag>& flags, int argc,
                                 const char* const* argv) {
  cxxopts::Options options("headroom");
  options.allow_unrecognised_options();  // refused later, with a hint
  for (const Flag& flag : flags) {
    const auto value = cxxopts::value<std::string>();
    if (flag.value.empty()) value->implicit_value(kOn);
    if (!flag.alone.empty()) value->implicit_value(flag.alone);
    options.add_options()(flag.letter.empty() ? flag.name : flag.letter + "," + flag.name,
                          flag.help, value);
  }
  try {
    return options.parse(argc, argv);
  } catch (const cxxopts::exceptions::missing_argument&) {
    // Only the last word can lack its value.
    refuse_no_value(argv[argc - 1], flags);
  } catch (const cxxopts::exceptions::exception& error) {
    throw UsageError(error.what());
  }
}

// Sorts flags by group, the groups in the order of their first flags.
std::vector<Flag> by_group(std::vector<Flag> flags) {
  std::vector<std::string> groups;
  for (const Flag& flag : flags) {
    if (!is_one_of(flag.group, groups)) groups.push_back(flag.group);
  }
  const auto place = [&](const Flag& flag) {
    return std::find(groups.begin(), groups.end(), flag.group);
  };
  std::stable_sort(flags.begin(), flags.end(),
                   [&](const Flag& a, const Flag& b) { return place(a) < place(b); });
  return flags;
}

}  // namespace

std::vector<Flag> joined(std::vector<Flag> flags, const std::vector<Flag>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

std::string Arguments::get(const std::string& name, const std::string& otherwise) const {
  const auto it = values.find(name);
  return it == values.end() ? otherwise : it->second;
}

CommandLine::CommandLine(std::string usage, std::string summary, std::vector<Flag> flags,
                         bool takes_positional, size_t first_file)
    : usage_(std::move(usage)),
      summary_(std::move(summary)),
      flags_(std::move(flags)),
      takes_positional_(takes_positional),
      first_file_(first_file) {
  flags_.push_back({.name = "help", .help = "print this help and exit", .group = "Other"});
  flags_ = by_group(std::move(flags_));
}

Arguments CommandLine::parse(int argc, const char* const* typed) const {
  Arguments arguments;
  if (asks_for_help(argc, typed)) {
    arguments.values["help"] = kOn;
    return arguments;
  }
  const std::vector<std::string> words = current_words(flags_, argc, typed);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const char* const* const argv = pointers.data();
  const cxxopts::ParseResult result = parse_words(flags_, argc, argv);
  for (const auto& given : result.arguments()) {
    const Flag* const flag = find_flag_named(flags_, given.key());
    check_value(*flag, given.value());
    if (!arguments.values.emplace(given.key(), given.value()).second) {
      throw UsageError("--" + given.key(), given.value(), "is a second value; give the flag once",
                       example_of(*flag));
    }
  }
  const auto& unmatched = result.unmatched();
  const size_t plain =
      unmatched.size() - std::min(unmatched.size(), count_after_dashes(argc, argv));
  for (size_t i = 0; i < unmatched.size(); ++i) {
    // A lone dash is stdin, where files are accepted.
    if (i < plain && unmatched[i].starts_with("-") && unmatched[i] != "-") {
      refuse_unknown(typed_word(unmatched[i], argc, argv), flags_);
    }
    arguments.positional.push_back(unmatched[i]);
  }
  if (!takes_positional_ && !arguments.positional.empty()) {
    refuse_argument(arguments.positional.front());
  }
  return arguments;
}

std::string CommandLine::help() const {
  std::string text = "headroom " + usage_ + "\n\n" + summary_ + "\n";
  size_t width = 0;
  const auto left = [](const Flag& flag) {
    const std::string name =
        (flag.letter.empty() ? "  --" : "  -" + flag.letter + ", --") + flag.name;
    if (!flag.alone.empty()) return name + "[=" + flag.value + "]";
    return name + (flag.value.empty() ? "" : " " + flag.value);
  };
  for (const Flag& flag : flags_) width = std::max(width, std::min<size_t>(left(flag).size(), 30));
  std::string group;
  for (const Flag& flag : flags_) {
    if (flag.group != group) text += "\n" + flag.group + "\n";
    group = flag.group;
    std::string line = left(flag);
    line += line.size() > width ? "\n" + std::string(width, ' ')
                                : std::string(width - line.size(), ' ');
    for (const char c : "  " + flag.help) {
      line += c;
      if (c == '\n') line.append(width + 2, ' ');
    }
    text += line + "\n";
  }
  return text + "\n" + kExitCodesHelp;
}

}  // namespace headroom
