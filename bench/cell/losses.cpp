#include "bench/cell/losses.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headroom {

void note_losses(Record& record) {
  const auto is_bad = [](double loss) { return !std::isfinite(loss); };
  const auto first = std::find_if(record.losses.begin(), record.losses.end(), is_bad);
  if (first == record.losses.end()) return;
  const auto count = std::count_if(first, record.losses.end(), is_bad);
  const std::string note = "the loss is NaN or infinite in " + std::to_string(count) + " of " +
                           std::to_string(record.losses.size()) +
                           " measured steps, first in step " +
                           std::to_string(first - record.losses.begin() + 1) +
                           "; times and memory are valid, the training is not";
  record.notes.push_back(note);
  std::fprintf(stderr, "headroom: warning: %s: %s\n", row_name(record.spec).c_str(), note.c_str());
}

}  // namespace headroom
