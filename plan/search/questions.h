// How often a search asked, by kind. No torch here.
#pragma once

#include <cstddef>
#include <string>

namespace headroom {

// Different questions that a search had. Those that were answered ahead and that it did not have
// are not counted (plan/fit/questions/estimates.h).
struct Questions {
  size_t needs = 0;    // peaks, by theory or by the card
  size_t guesses = 0;  // rough ones, for where to look
  size_t fits = 0;     // whether the card has room
  size_t hosts = 0;    // bytes in host memory
  size_t cells = 0;    // runs whose Records are the answers, of this search or of an earlier one
};

// "asked: 23 needs, 0 guesses, 11 fits, 0 hosts, 2 cells".
std::string in_words(const Questions& questions);

}  // namespace headroom
