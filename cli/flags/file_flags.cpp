#include "cli/flags/file_flags.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "files/links.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kStream = "-";

}  // namespace

FileArguments name_files(const CommandLine& line, Arguments& arguments) {
  FileArguments files;
  for (const Flag& flag : line.flags()) {
    const auto given = arguments.values.find(flag.name);
    if (flag.file == FileUse::kNone || given == arguments.values.end()) continue;
    std::string& path = given->second;
    const bool written = flag.file == FileUse::kWritten;
    if (path == kStream) path = written ? "/dev/stdout" : "/dev/stdin";
    (written ? files.written : files.read).push_back({"--" + flag.name, path});
  }
  for (size_t i = line.first_file(); i < arguments.positional.size(); ++i) {
    std::string& path = arguments.positional[i];
    if (path == kStream) path = "/dev/stdin";
    if (path.empty()) throw UsageError("a file: '' is empty; allowed: the name of a file");
    files.read.push_back({"", path});
  }
  const char* cards = std::getenv("HEADROOM_CARDS");
  if (cards != nullptr && *cards != '\0') files.read.push_back({"HEADROOM_CARDS", cards});
  return files;
}

bool writes_stdout(const FileArguments& files) {
  return std::any_of(files.written.begin(), files.written.end(), [](const NamedFile& file) {
    return named_descriptor(file.path) == STDOUT_FILENO;
  });
}

}  // namespace headroom
