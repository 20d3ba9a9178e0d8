#include "files/room.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "files/replace_file.h"

namespace headroom {

// Uses a file without a name: in the file itself, freeing the space would truncate it at a size
// that another program may have passed.
int space_error(const std::string& path, int64_t size, int64_t bytes) {
  const int probe = open(directory_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (probe < 0) return errno == ENOSPC || errno == EDQUOT ? errno : 0;
  const int error = fallocate(probe, FALLOC_FL_KEEP_SIZE, size, bytes) == 0 ? 0 : errno;
  close(probe);
  return error == ENOSPC || error == EDQUOT || error == EFBIG ? error : 0;
}

}  // namespace headroom
