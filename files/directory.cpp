#include "files/directory.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "files/replace_file.h"

namespace headroom {

bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string in_directory(std::string directory, const std::string& name) {
  directory += "/";
  directory += name;
  return directory;
}

void make_directories(const std::string& path) {
  if (path.empty() || is_directory(path)) return;
  const size_t end = path.find_last_not_of('/');
  const size_t slash = path.rfind('/', end);
  if (slash != std::string::npos && slash > 0) make_directories(path.substr(0, slash));
  constexpr mode_t kForAll = 0777;  // reduced by the umask
  if (mkdir(path.c_str(), kForAll) == 0 || (errno == EEXIST && is_directory(path))) return;
  throw WriteError("cannot make the directory " + path + ": " +
                   std::generic_category().message(errno));
}

std::vector<std::string> names_in(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(opendir(directory.c_str()), closedir);
  std::vector<std::string> names;
  if (!handle) return names;
  while (const dirent* entry = readdir(handle.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

std::vector<std::string> temporary_folders() {
  const char* const named = std::getenv("TMPDIR");
  if (named == nullptr || *named == '\0') return {"/tmp"};
  return {named, "/tmp"};
}

void remove_directory(const std::string& directory) {
  for (const std::string& name : names_in(directory)) unlink(in_directory(directory, name).c_str());
  rmdir(directory.c_str());
}

}  // namespace headroom
