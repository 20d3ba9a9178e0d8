#include "profiling/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace headroom {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw std::runtime_error("cannot write " + path + ": " + std::strerror(error));
}

// Closes the descriptor on every way out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int close() {
    const int result = number_ >= 0 ? ::close(number_) : 0;
    number_ = -1;
    return result;
  }

 private:
  int number_;
};

// 0, or the errno of the first write that failed.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Where the bytes go: the file behind a symbolic link, or the path itself.
std::string resolved(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

// True for what must be written in place: a device, a pipe, a socket.
bool is_special(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
  return !S_ISREG(status.st_mode);
}

void write_in_place(const std::string& path, std::string_view text) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) fail(path, errno);
  if (const int error = write_all(file.number(), text)) fail(path, error);
  if (file.close() != 0) fail(path, errno);
}

// A rename is on the disk only once its directory is.
void sync_directory_of(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  const Descriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: this file system does not sync directories.
  if (handle.number() < 0 || (::fsync(handle.number()) != 0 && errno != EINVAL)) fail(path, errno);
}

// A file of the same directory that removes itself unless it was renamed.
class Temporary {
 public:
  explicit Temporary(const std::string& path)
      : path_(path),
        name_(path + ".tmp." + std::to_string(::getpid())),
        file_(::open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (file_.number() < 0) fail(path, errno);
    // An existing file keeps its permissions.
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
      if (::access(path.c_str(), W_OK) != 0) give_up(errno);
      if (::fchmod(file_.number(), status.st_mode & 07777) != 0) give_up(errno);
    }
  }
  ~Temporary() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void write_and_rename(std::string_view text) {
    if (const int error = write_all(file_.number(), text)) fail(path_, error);
    if (::fsync(file_.number()) != 0) fail(path_, errno);
    if (file_.close() != 0) fail(path_, errno);
    if (::rename(name_.c_str(), path_.c_str()) != 0) fail(path_, errno);
    name_.clear();
    sync_directory_of(path_);
  }

 private:
  // Inside the constructor, where the destructor will not run.
  [[noreturn]] void give_up(int error) {
    ::unlink(name_.c_str());
    fail(path_, error);
  }

  std::string path_;
  std::string name_;
  Descriptor file_;
};

}  // namespace

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::string target = resolved(path);
  if (is_special(target)) {
    write_in_place(target, text);
  } else {
    Temporary(target).write_and_rename(text);
  }
}

void check_writable(const std::string& path) {
  const std::string target = resolved(path);
  if (is_special(target)) {
    if (::access(target.c_str(), W_OK) != 0) fail(target, errno);
  } else {
    const Temporary probe(target);
  }
}

}  // namespace headroom
