#include "plan/fit/answers/command_line.h"

#include <cctype>

#include "bench/launch/ranks/distinct.h"
#include "text/quantity.h"

namespace headroom {

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./:,=+%@").find(c) != std::string_view::npos;
  };
  bool plain = !word.empty();
  for (const char c : word) plain = plain && is_plain(c);
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string flags_in_words(const RunSpec& spec,
                           const std::function<bool(const Field&, bool is_default)>& is_said) {
  static const RunSpec kDefaults;
  std::string words;
  for (const Field& field : fields()) {
    const std::string value = field.get(spec);
    if (!is_said(field, value == field.get(kDefaults))) continue;
    words += " " + field.flag();
    if (!field.is_switch()) words += " " + shell_word(value);
  }
  return words;
}

std::string profile_command(const RunSpec& spec, std::optional<int64_t> host_limit,
                            const std::vector<int64_t>& ranks) {
  std::string command = "headroom profile";
  command += flags_in_words(spec, [](const Field& field, bool is_default) {
    return !is_default || field.required || field.stated;
  });
  if (!ranks.empty()) command += " --rank " + rank_list(ranks);
  if (host_limit) command += " --host-memory " + exact_bytes(*host_limit);
  return command;
}

}  // namespace headroom
