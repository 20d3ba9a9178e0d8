#include "bench/dryrun/breakdown/cpp/cpp_function.h"

#include <algorithm>
#include <array>

namespace headroom {

std::string without_anonymous_namespaces(std::string name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous))
    name.erase(at, kAnonymous.size());
  return name;
}

std::string short_function(std::string_view name) {
  std::string text = without_anonymous_namespaces(std::string(name));
  const size_t end = text.find_first_of("({[");  // "main::{lambda()#1}", "step() [clone .cold]"
  const bool is_call = text.substr(0, end).ends_with("operator");  // "Gather::operator()(int)"
  if (end != std::string::npos) text.resize(is_call ? end + 2 : end);
  while (text.ends_with(' ') || text.ends_with(':')) text.pop_back();
  return text.empty() ? std::string(name) : text;
}

bool is_of_library(std::string_view symbol) {
  constexpr std::array<std::string_view, 4> kSpaces = {"at::", "c10::", "torch::", "std::"};
  if (symbol.empty() || symbol == "_start") return true;
  const std::string name = short_function(symbol);
  const std::string own = name.substr(0, name.find('<'));  // "void at::native::gpu_kernel<...>"
  return std::any_of(kSpaces.begin(), kSpaces.end(), [&](std::string_view space) {
    return own.starts_with(space) || own.find(" " + std::string(space)) != std::string::npos;
  });
}

bool is_library_header(std::string_view file) {
  constexpr std::array<std::string_view, 4> kParts = {"/include/ATen/", "/include/c10/",
                                                      "/include/torch/", "/include/c++/"};
  if (file.starts_with("/usr/include/") || file.starts_with("/usr/lib/")) return true;
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return file.find(part) != file.npos; });
}

}  // namespace headroom
