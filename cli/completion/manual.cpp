#include <cctype>

#include "cli/commands/examples.h"
#include "cli/completion/scripts.h"
#include "cli/exit_code.h"
#include "text/words.h"

namespace headroom {
namespace {

// Text of roff: a minus that can be pasted, no line that begins like a request.
std::string roff(const std::string& text) {
  std::string escaped;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    begins = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string head(const std::string& name, const std::string& help, const std::string& version) {
  return ".TH " + roff(upper(name)) + " 1 \"\" \"headroom " + version +
         "\" \"headroom\"\n.SH NAME\n" + roff(name) + " \\- " + roff(help) + "\n";
}

std::string as_typed(const std::string& text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string flags_section(const std::vector<Flag>& flags) {
  std::string text;
  std::string group;
  for (const Flag& flag : flags) {
    if (flag.group != group) text += ".SS " + roff(flag.group) + "\n";
    group = flag.group;
    text += ".TP\n\\fB" + roff("--" + flag.name) + "\\fR";
    if (!flag.value.empty()) {
      text += flag.alone.empty() ? " \\fI" + roff(flag.value) + "\\fR"
                                 : "[=\\fI" + roff(flag.value) + "\\fR]";
    }
    text += "\n" + roff(flag.help) + "\n";
  }
  return ".SH OPTIONS\n" + text;
}

const std::string kExitStatus = ".SH EXIT STATUS\n";

}  // namespace

std::string manual_page(const DescribedCommand& command, const std::string& version) {
  const std::string name = command.command.name;
  const CommandLine& line = command.description.line;
  std::string page = head("headroom-" + name, command.command.help, version) + ".SH SYNOPSIS\n" +
                     roff("headroom " + line.usage()) + "\n.SH EXAMPLES\n" +
                     as_typed(join(examples_of(name), "\n")) + ".SH DESCRIPTION\n";
  // A help that is not made of the flags stands as it is.
  const bool is_own = command.description.help != line.help();
  if (is_own) return page + as_typed(command.description.help) + ".SH SEE ALSO\nheadroom(1)\n";
  return page + roff(line.summary()) + "\n" + flags_section(line.flags()) + kExitStatus +
         roff(kExitCodesHelp) + ".SH SEE ALSO\nheadroom(1)\n";
}

std::string manual_page(const std::vector<DescribedCommand>& commands, const std::string& version) {
  std::string page =
      head("headroom", "time and memory of a transformer's training step", version) +
      ".SH SYNOPSIS\nheadroom COMMAND [flags]\n.SH DESCRIPTION\n" +
      roff(
          "Measures how long a training step takes, how much memory it needs and where that goes: "
          "on an NVIDIA card, on the CPU, or on a virtual card that only accounts for memory.\n"
          "headroom COMMAND --help and headroom-COMMAND(1) list the flags of a command.\n") +
      ".SH COMMANDS\n";
  std::vector<std::string> others;
  for (const DescribedCommand& command : commands) {
    page += ".TP\n\\fB" + roff(command.command.name) + "\\fR\n" + roff(command.command.help) + "\n";
    others.push_back(roff(std::string("headroom-") + command.command.name) + "(1)");
  }
  return page + kExitStatus + roff(kExitCodesHelp) + ".SH SEE ALSO\n" + join(others, ",\n") + "\n";
}

}  // namespace headroom
