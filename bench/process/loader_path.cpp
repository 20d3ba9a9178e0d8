#include "bench/process/loader_path.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "files/directory.h"

namespace headroom {
namespace {

constexpr const char* kSeparators = " :";

bool is_splittable(const std::string& path) {
  return path.find_first_of(kSeparators) != std::string::npos;
}

std::string absolute(const std::string& folder) {
  const std::unique_ptr<char, void (*)(void*)> path(realpath(folder.c_str(), nullptr), std::free);
  return path == nullptr ? folder : path.get();
}

class Link {
 public:
  explicit Link(const std::string& folder) : maker_(getpid()) {
    std::vector<std::string> parents = temporary_folders();
    parents.insert(parents.end(), {"/dev/shm", "/var/tmp"});
    for (const std::string& parent : parents) {
      std::string path = parent + "/headroom-link.XXXXXX";
      if (is_splittable(parent) || mkdtemp(path.data()) == nullptr) continue;
      own_ = path;
      if (symlink(absolute(folder).c_str(), this->path().c_str()) == 0) return;
      rmdir(own_.c_str());
    }
    throw std::runtime_error("the loader splits '" + folder +
                             "' at its spaces and colons, and there is nowhere to put a link to "
                             "it: $TMPDIR, /tmp, /dev/shm and /var/tmp are not writable or have "
                             "such a path themselves");
  }
  ~Link() {
    if (own_.empty() || getpid() != maker_) return;  // a forked copy
    unlink(path().c_str());
    rmdir(own_.c_str());
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  std::string path() const { return own_ + "/lib"; }

 private:
  const pid_t maker_;
  std::string own_;
};

}  // namespace

std::string loader_path(const std::string& folder) {
  if (!is_splittable(folder)) return folder;
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Link>> links;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Link>& link = links[folder];
  if (link == nullptr) link = std::make_unique<Link>(folder);
  return link->path();
}

}  // namespace headroom
