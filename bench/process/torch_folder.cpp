#include "bench/process/torch_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "bench/process/program_folder.h"
#include "bench/process/virtual_card.h"

namespace headroom {
namespace {

constexpr const char* kVariable = "HEADROOM_TORCH_DIR";

std::string named_folder() {
  const char* const named = std::getenv(kVariable);
  return named == nullptr ? "" : named;
}

}  // namespace

std::string torch_folder() {
  const std::string named = named_folder();
  return named.empty() ? HEADROOM_BUILT_WITH : named;
}

std::string torch_python() {
  const char* const given = std::getenv("HEADROOM_PYTHON");
  if (given != nullptr && *given != '\0') return given;
  std::string folder = torch_folder();  // .venv/lib/python3.11/site-packages/torch
  for (int i = 0; i < 4; ++i) folder = folder_above(folder);
  return folder + "/bin/python";
}

std::vector<std::string> with_torch(std::vector<std::string> set) {
  const std::string named = named_folder();
  if (named.empty()) return set;
  const std::string library = named + "/lib/libtorch.so";
  if (::access(library.c_str(), R_OK) != 0) {
    throw std::runtime_error(std::string(kVariable) + "='" + named +
                             "' is no libtorch: " + library + " is missing (example: " + kVariable +
                             "=/opt/venv/lib/python3.11/site-packages/torch)");
  }
  set.push_back(path_list_variable("LD_LIBRARY_PATH", named + "/lib"));
  return set;
}

}  // namespace headroom
