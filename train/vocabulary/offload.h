// Where something that a step owns is kept while nothing computes with it. No torch here.
#pragma once

#include <string>

#include "text/enum_words.h"

namespace headroom {

enum class Place {
  kDevice,  // where it is computed with
  kHost,    // main memory, over the link between host and card
  kDisk,    // a file
};

// The words say what an offload goes to: "none" is no offload.
const EnumWords<Place>& words_of(Place);
std::string to_string(Place place);  // "none", "cpu", "nvme"

}  // namespace headroom
