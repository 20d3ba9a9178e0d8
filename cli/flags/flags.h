// Declares, parses and checks the flags of a command. No torch here.
//
// Every value arrives as text and is read by our own parsers (text/quantity.h): the flag library's
// read "0.5GB" as 0.5 and drop the rest after a comma.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headroom {

// The use of a flag's file: see cli/flags/file_flags.h.
enum class FileUse { kNone, kRead, kWritten };

struct Flag {
  std::string name;   // without the dashes
  std::string value;  // the value's placeholder in --help: "FILE"; "" = a switch without value
  std::string help;
  std::string group;  // heading in --help
  FileUse file = FileUse::kNone;
  std::string alone;            // its value if none is given after "="; "" = it needs one
  std::string example = {};     // valid flags, for error lines; "" = by `value` and `name`
  std::string old_name = {};    // also accepted, with the new name on stderr
  std::string other_name = {};  // also accepted
  std::string letter = {};      // its short form: "o" for -o
};

// The parsed command line.
struct Arguments {
  std::map<std::string, std::string> values;  // by flag name; a switch has "true"
  std::vector<std::string> positional;

  bool has(const std::string& name) const { return values.count(name) > 0; }
  std::string get(const std::string& name, const std::string& otherwise = "") const;
};

// The flags of both lists, in their order.
std::vector<Flag> joined(std::vector<Flag> flags, const std::vector<Flag>& more);

class CommandLine {
 public:
  static constexpr size_t kNoFiles = SIZE_MAX;

  // usage: the text after the program's name, "profile --model-size NAME [flags]". Positional
  // arguments from number first_file on are files to read.
  CommandLine(std::string usage, std::string summary, std::vector<Flag> flags,
              bool takes_positional = false, size_t first_file = kNoFiles);

  // typed[0] is the command's own name. Throws UsageError, one line, on: an unknown flag (with the
  // nearest known one), a repeated flag, a flag without its value, an argument without a flag.
  // --help anywhere overrides every error.
  Arguments parse(int argc, const char* const* typed) const;

  std::string help() const;

  const std::string& usage() const { return usage_; }
  const std::string& summary() const { return summary_; }
  std::string command() const { return usage_.substr(0, usage_.find(' ')); }
  const std::vector<Flag>& flags() const { return flags_; }
  size_t first_file() const { return first_file_; }

 private:
  std::string usage_;
  std::string summary_;
  std::vector<Flag> flags_;
  bool takes_positional_;
  size_t first_file_;
};

}  // namespace headroom
