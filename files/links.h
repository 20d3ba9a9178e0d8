// The real target of a path, through symbolic links or to an open stream. No torch here.
#pragma once

#include <optional>
#include <string>

namespace headroom {

// The final target of a write through `path`: follows links, to a file that need not exist.
std::string follow_links(std::string path);

// `path` for error messages: "r.jsonl" or, for a link, "r.jsonl (a link to missing/r.jsonl)".
std::string with_link_target(const std::string& path);

// This process's descriptor behind `path`: 1 for "/dev/stdout" and links to it, 63 for a shell's
// "/dev/fd/63" in place of ">(command)". Nothing if the path names a file itself, or a descriptor
// that is not open.
std::optional<int> named_descriptor(const std::string& path);

}  // namespace headroom
