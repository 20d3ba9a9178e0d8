#include "files/same_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "files/links.h"
#include "files/replace_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

FileIdentity identity_of(const struct stat& status, std::string name = "") {
  return {status.st_dev, status.st_ino, std::move(name)};
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The first use of a file.
struct Use {
  NamedFile file;
  const char* verb;  // "reads", "writes"
};

std::string sentence(const Use& use) {
  if (use.file.path.empty()) return "is where stdout goes";
  if (use.file.flag.empty()) return "is the file that is read, " + use.file.path;
  return "is the file that " + use.file.flag + " " + use.verb;
}

[[noreturn]] void refuse(const NamedFile& file, const Use& other) {
  throw UsageError(file.flag, file.path, sentence(other) + "; allowed: a file of its own",
                   file.flag + " new_" + last_part(file.path));
}

}  // namespace

std::optional<FileIdentity> file_identity(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) return std::nullopt;
    return identity_of(status);
  }
  const std::string target = follow_links(path);
  if (stat(directory_of(target).c_str(), &status) == 0) {
    return identity_of(status, last_part(target));
  }
  return FileIdentity{0, 0, target};  // not writable, which is reported elsewhere
}

std::optional<FileIdentity> file_identity(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return identity_of(status);
}

void check_apart(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  std::map<FileIdentity, Use> uses;
  const std::optional<FileIdentity> out = file_identity(STDOUT_FILENO);
  for (const NamedFile& file : read) {
    const auto identity = file_identity(file.path);
    if (!identity) continue;
    if (identity == out) {
      throw UsageError(file.flag.empty() ? "stdout" : file.flag, file.path,
                       "is read, and stdout is redirected into it; allowed: another file",
                       "> " + last_part(file.path) + ".new");
    }
    uses.try_emplace(*identity, Use{file, "reads"});
  }
  for (const NamedFile& file : written) {
    const auto identity = file_identity(file.path);
    if (!identity) continue;
    if (identity == out && named_descriptor(file.path) != STDOUT_FILENO) {
      refuse(file, Use{});
    }
    const auto [known, is_new] = uses.try_emplace(*identity, Use{file, "writes"});
    if (!is_new) refuse(file, known->second);
  }
}

}  // namespace headroom
