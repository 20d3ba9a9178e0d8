#include "train/vocabulary/offload.h"

namespace headroom {

const EnumWords<Place>& words_of(Place) {
  static const EnumWords<Place> kWords = {{Place::kDevice, "none", "it stays on the device"},
                                          {Place::kHost, "cpu", "in host memory"},
                                          {Place::kDisk, "nvme", "in a file"}};
  return kWords;
}

std::string to_string(Place place) { return word_of(place); }

}  // namespace headroom
