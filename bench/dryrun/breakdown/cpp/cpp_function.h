// Names of functions and files in C++: which are a library's, and as a report prints them. No torch
// here.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// "(anonymous namespace)::Net" as "Net".
std::string without_anonymous_namespaces(std::string name);

// "(anonymous namespace)::Net::forward(at::Tensor const&)" as "Net::forward".
std::string short_function(std::string_view name);

// True if a demangled symbol belongs to libtorch, to the standard library or to the program's
// start; true for "".
bool is_of_library(std::string_view symbol);

// True if the file is a header of libtorch, of the system or of the compiler.
bool is_library_header(std::string_view file);

}  // namespace headroom
