// Creates, lists and removes directories. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

bool is_directory(const std::string& path);

// The path of an entry of the directory.
std::string in_directory(std::string directory, const std::string& name);

// Creates the directory and its parents; does nothing if it exists. Throws WriteError
// (files/replace_file.h), one line.
void make_directories(const std::string& path);

// Names of its entries, without "." and ".."; empty if it cannot be read.
std::vector<std::string> names_in(const std::string& directory);

// Folders for temporary files, the preferred first: $TMPDIR, if it is set, and /tmp.
std::vector<std::string> temporary_folders();

// Removes the directory and the files in it, but no subdirectories. Best effort.
void remove_directory(const std::string& directory);

}  // namespace headroom
