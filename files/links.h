// Where a path really leads: through symbolic links, or to a stream that is open already. No torch
// here.
#pragma once

#include <optional>
#include <string>

namespace headroom {

// Where a write through `path` ends: links are followed, to a file that need not exist yet.
std::string follow_links(std::string path);

// `path` as an error names it: "r.jsonl" or, of a link, "r.jsonl (a link to missing/r.jsonl)".
std::string with_link_target(const std::string& path);

// The descriptor of this process that `path` is another name for: 1 for "/dev/stdout" and for links
// to it, 63 for the "/dev/fd/63" that a shell puts in the place of ">(command)". Nothing where the
// path names a file by itself, or a descriptor that is not open.
std::optional<int> named_descriptor(const std::string& path);

}  // namespace headroom
