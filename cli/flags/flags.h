// The flags of one command: declared, parsed and refused. No torch here.
//
// Every value arrives as text and is read by our own parsers (text/quantity.h): the ones of the
// flag library take "0.5GB" for 0.5 and drop what stands behind a comma.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headroom {

// What a command does with the file that a flag names: see cli/flags/file_flags.h.
enum class FileUse { kNone, kRead, kWritten };

struct Flag {
  std::string name;   // without the dashes
  std::string value;  // what stands for the value in --help: "FILE"; "" = a switch without value
  std::string help;
  std::string group;  // heading in --help
  FileUse file = FileUse::kNone;
  std::string alone;  // its value where none is given behind "="; "" = it needs one
  std::string example =
      {};  // for refusals, flags that run as they stand; "" = by `value` and `name`
  std::string old_name = {};    // taken too, with a line on stderr that says the new one
  std::string other_name = {};  // taken too
};

// What the user typed.
struct Arguments {
  std::map<std::string, std::string> values;  // by flag name; a switch has "true"
  std::vector<std::string> positional;

  bool has(const std::string& name) const { return values.count(name) > 0; }
  std::string get(const std::string& name, const std::string& otherwise = "") const;
};

class CommandLine {
 public:
  static constexpr size_t kNoFiles = SIZE_MAX;

  // usage: what follows the program's name, "profile --model-size NAME [flags]". Positional
  // arguments are files to read from the one numbered first_file on.
  CommandLine(std::string usage, std::string summary, std::vector<Flag> flags,
              bool takes_positional = false, size_t first_file = kNoFiles);

  // typed[0] is the command's own name. Throws UsageError, one line, on: an unknown flag (with the
  // nearest known one), a flag twice, a flag without its value, an argument that belongs to no
  // flag. --help anywhere wins over every error.
  Arguments parse(int argc, const char* const* typed) const;

  std::string help() const;

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
