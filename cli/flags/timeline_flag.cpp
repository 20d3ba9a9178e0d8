#include "cli/flags/timeline_flag.h"

#include "files/links.h"
#include "text/quantity.h"

namespace headroom {

Flag timeline_flag() {
  return {"output", "FILE.svg", "file for the timeline, written completely or not at all", "Output",
          FileUse::kWritten};
}

std::string timeline_file_from(const Arguments& arguments) {
  if (!arguments.has("output")) return "";
  std::string path = arguments.get("output");
  if (!path.ends_with(".svg") && !named_descriptor(path)) {
    throw UsageError("--output", path, "is not a name for the timeline; allowed: FILE.svg",
                     "--output timeline.svg");
  }
  return path;
}

}  // namespace headroom
