#include "files/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "files/replace_file.h"

namespace headroom {

void write_file_atomically(const std::string& path, std::string_view text) {
  ReplaceFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void check_writable(const std::string& path) {
  // A file that exists but may not be written would be replaced all the same: its directory allows
  // it. Refused, because whoever took the permission away meant it.
  if (::access(path.c_str(), F_OK) == 0 && ::access(path.c_str(), W_OK) != 0) {
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
  const ReplaceFile probe(path);  // never committed, so it removes itself
}

}  // namespace headroom
