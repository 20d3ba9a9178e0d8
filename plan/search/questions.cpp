#include "plan/search/questions.h"

namespace headroom {

std::string in_words(const Questions& questions) {
  return "asked: " + std::to_string(questions.needs) + " needs, " +
         std::to_string(questions.guesses) + " guesses, " + std::to_string(questions.fits) +
         " fits, " + std::to_string(questions.hosts) + " hosts, " +
         std::to_string(questions.cells) + " cells";
}

}  // namespace headroom
