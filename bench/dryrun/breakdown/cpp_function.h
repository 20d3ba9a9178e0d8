// Names of functions and files in C++: which are a library's, and as a report prints them. No torch
// here.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// "(anonymous namespace)::Net::forward(at::Tensor const&)" as "Net::forward".
std::string short_function(std::string_view name);

// Of libtorch, of the standard library, or of the program's start; also "". By the demangled
// symbol.
bool is_of_library(std::string_view symbol);

// A header of libtorch, of the system or of the compiler.
bool is_library_header(std::string_view file);

}  // namespace headroom
