// The line of a Python program that runs on this thread, found through the interpreter's exported
// functions. Neither torch nor Python's headers here.
#pragma once

#include <cstdint>
#include <string>

#include "bench/dryrun/breakdown/category.h"

namespace headroom {

struct PythonPlace {
  uint32_t number = 0;  // of the text "file\nline\nfunction", twice if the user's own line differs
  Hint hint = Hint::kNone;
};

// Names of files whose lines are not the program's: the beginnings and parts of names, one a line:
// headroom_places.py's rules().
struct PlaceRules {
  std::string torch_begins;
  std::string torch_parts;
  std::string package_begins;
  std::string package_parts;
};
void set_python_places(const PlaceRules& rules);

// Takes the GIL, if this thread has ever run Python; {} if it runs none now.
PythonPlace python_place();

// Before Python ends: python_place() is {} from now on.
void stop_python_places();

}  // namespace headroom
