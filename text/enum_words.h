// Enumerations as words: each value, its word in input and output, its meaning. No torch here.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace headroom {

// Note [One list of words for each enumeration]
// Rationale: a flag's choices, its parser, to_string() and --help use the same words; separate
//   copies of them drift apart.
// Approach: an enumeration has one list, found by its type; everything below reads it.
//     enum class Colour { kRed, kBlue };
//     const EnumWords<Colour>& words_of(Colour);                        // declared beside it
//     const EnumWords<Colour>& words_of(Colour) {                       // and defined once
//       static const EnumWords<Colour> kWords = {{Colour::kRed, "red", "as a rose"},
//                                                {Colour::kBlue, "blue", "as the sky"}};
//       return kWords;
//     }
//   The order is that of --help; error messages use the first word as their example.
// Limits: one word for each value, no second name.
template <typename Enum>
struct EnumWord {
  Enum value;
  std::string word;
  std::string meaning;  // one line; "" = clear from the word
};
template <typename Enum>
using EnumWords = std::vector<EnumWord<Enum>>;

// The value's word; "?" for a number outside the enumeration.
template <typename Enum>
std::string word_of(Enum value) {
  for (const EnumWord<Enum>& known : words_of(value)) {
    if (known.value == value) return known.word;
  }
  return "?";
}

template <typename Enum>
std::string meaning_of(Enum value) {
  for (const EnumWord<Enum>& known : words_of(value)) {
    if (known.value == value) return known.meaning;
  }
  return "";
}

// "word: meaning".
template <typename Enum>
std::string in_words(Enum value) {
  return word_of(value) + ": " + meaning_of(value);
}

// All words, in the order of the list.
template <typename Enum>
std::vector<std::string> choices_of() {
  std::vector<std::string> choices;
  for (const EnumWord<Enum>& known : words_of(Enum{})) choices.push_back(known.word);
  return choices;
}

// The value of the word given after `flag`. Throws UsageError with the nearest word and all of
// them.
template <typename Enum>
Enum parse_word(const std::string& flag, std::string_view typed) {
  for (const EnumWord<Enum>& known : words_of(Enum{})) {
    if (known.word == typed) return known.value;
  }
  const std::vector<std::string> choices = choices_of<Enum>();
  refuse_name(flag, typed, choices, flag + " " + choices.front());
}

}  // namespace headroom
