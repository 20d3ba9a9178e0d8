// Lists of words: joined for people, and compared with user input. No torch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// "a, b, c".
std::string join(const std::vector<std::string>& words, std::string_view between = ", ");

// A setting's name in flags: "swap-phases" for "swap_phases".
std::string with_dashes(std::string name);

// "--checkpoint is now --recompute; both work".
std::string renamed(const std::string& old_flag, const std::string& flag);

// The name of a flag: "swap-phases" for "--swap-phases"; "" for "".
std::string without_dashes(const std::string& flag);

bool is_one_of(std::string_view word, const std::vector<std::string>& words);

// The name in `candidates` at most two edits away from `text`, else "".
std::string nearest_name(std::string_view text, const std::vector<std::string>& candidates);

// "; did you mean small?", the end of an error message; "" if `near` is "".
std::string did_you_mean(const std::string& near);

// Throws UsageError, "--format: 'x' is unknown; allowed: ...", unless `word` is one of `allowed`.
void check_choice(std::string_view flag, std::string_view word,
                  const std::vector<std::string>& allowed, std::string_view example);

// The same for words that are easily mistyped: the nearest one is suggested.
void check_name(std::string_view flag, std::string_view word,
                const std::vector<std::string>& allowed, std::string_view example);

[[noreturn]] void refuse_name(std::string_view flag, std::string_view word,
                              const std::vector<std::string>& allowed, std::string_view example);

// Throws UsageError: "unknown option --modl-size, did you mean --model-size?".
[[noreturn]] void refuse_option(const std::string& typed, const std::vector<std::string>& known);

// Throws UsageError on an argument that is neither a flag nor a flag's value.
[[noreturn]] void refuse_argument(const std::string& typed);

}  // namespace headroom
