// A flag that may be given several times. No torch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Removes every `flag` ("--value") with its text from `words`, because other flags may not be given
// twice, and returns the texts. One without a text stays, and is refused later.
std::vector<std::string> take_repeated(std::string_view flag, std::vector<char*>& words);

}  // namespace headroom
