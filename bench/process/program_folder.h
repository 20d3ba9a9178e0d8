// This program's folder, for finding its siblings. No torch here.
#pragma once

#include <string>

namespace headroom {

// The folder of the running program's file, links resolved, without a trailing slash.
std::string program_folder();

// "/a" of "/a/b"; "" of "/a".
std::string folder_above(const std::string& path);

}  // namespace headroom
