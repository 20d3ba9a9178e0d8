// Counts of a search's questions, by kind. No torch here.
#pragma once

#include <cstddef>
#include <string>

namespace headroom {

// Distinct questions of a search. Answers computed ahead but never used do not count
// (plan/fit/questions/estimates.h).
struct Questions {
  size_t needs = 0;    // peaks, by theory or from the card
  size_t guesses = 0;  // approximate peaks, to choose where to look
  size_t fits = 0;     // checks for room on the card
  size_t hosts = 0;    // bytes in host memory
  size_t cells = 0;    // runs whose Records are the answers, in this search or an earlier one
};

// "asked: 23 needs, 0 guesses, 11 fits, 0 hosts, 2 cells".
std::string in_words(const Questions& questions);

}  // namespace headroom
