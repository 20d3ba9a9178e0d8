#include "files/atomic_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "files/links.h"
#include "files/replace_file.h"

namespace headroom {

void write_file_atomically(const std::string& path, std::string_view text) {
  ReplaceFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void check_writable(const std::string& path) {
  const auto refuse = [&](int error) {
    throw WriteError("cannot write " + with_link_target(path) + ": " +
                     std::generic_category().message(error));
  };
  struct stat existing {};
  const bool exists = stat(path.c_str(), &existing) == 0;
  // A file without write permission could still be replaced, if its directory allows it. Refused,
  // because the permission was removed on purpose.
  if (exists && access(path.c_str(), W_OK) != 0) refuse(errno);
  if (exists && S_ISDIR(existing.st_mode)) refuse(EISDIR);
  // Opening a pipe waits for its reader, and closing it again would end that reader.
  if (exists && S_ISFIFO(existing.st_mode) && !named_descriptor(path)) return;
  const ReplaceFile probe(path);  // never committed, so it removes itself
}

}  // namespace headroom
