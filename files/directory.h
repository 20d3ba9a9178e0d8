// Directories: made, looked through, removed. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

bool is_directory(const std::string& path);

// The path of what is named so in it.
std::string in_directory(std::string directory, const std::string& name);

// With those that it lies in; nothing happens where it is there. Throws WriteError
// (files/replace_file.h), one line.
void make_directories(const std::string& path);

// Of what lies in it, without "." and ".."; none where it cannot be read.
std::vector<std::string> names_in(const std::string& directory);

// With the files in it, no directories. What cannot be removed stays: best effort.
void remove_directory(const std::string& directory);

}  // namespace headroom
