#include "plan/recipes/stack.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "bench/process/program_folder.h"
#include "plan/fit/answers/command_line.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::string variable_of(const std::string& stack) {
  std::string name = "HEADROOM_";
  for (const char c : stack) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name + "_PYTHON";
}

std::string recipe_command(const std::string& stack) {
  if (stack == "torchtune") return "headroom finetune --stack torchtune";
  return stack == "sglang" ? "headroom serve --engine sglang" : "headroom " + stack;
}

// The folder of an installed program's packages: recipes/install.sh computes the same.
fs::path data_folder() {
  const char* const data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return fs::path(data) / "headroom";
  const char* const home = std::getenv("HOME");
  return fs::path(home == nullptr ? "/tmp" : home) / ".local" / "share" / "headroom";
}

}  // namespace

// build/release/lib/recipes of build/release/bin.
std::string recipe_path(const std::string& file) {
  return (fs::path(folder_above(program_folder())) / "lib" / "recipes" / file).string();
}

std::string stack_python(const std::string& stack) {
  const std::string variable = variable_of(stack);
  const char* const given = std::getenv(variable.c_str());
  if (given != nullptr && *given != '\0') return given;
  const fs::path build = fs::path(folder_above(program_folder())).parent_path();
  for (const fs::path& folder : {build, data_folder()}) {
    std::string python = (folder / "stacks" / stack / "bin" / "python").string();
    if (access(python.c_str(), X_OK) == 0) return python;
  }
  throw std::runtime_error("the Python packages of " + recipe_command(stack) +
                           " are not installed: run " + stack_installation(stack) + ", or set " +
                           variable + " to a Python that has them beside torch 2.11");
}

// The build tree has recipes only; the source tree has the script.
bool is_installed() { return access(recipe_path("install.sh").c_str(), X_OK) == 0; }

std::string stack_installation(const std::string& stack) {
  return (is_installed() ? shell_word(recipe_path("install.sh")) : "./recipes/install.sh") + " " +
         stack;
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string text;
  const std::string here = fs::current_path().string() + "/";
  for (const std::string& word : words) {
    const bool is_program = text.empty();
    if (!is_program) text += " ";
    const bool is_bare_program = is_program && word.find('/') == std::string::npos;
    text += shell_word(word.starts_with(here) ? word.substr(here.size())
                       : is_bare_program      ? "./" + word
                                              : word);
  }
  return text;
}

}  // namespace headroom
