// Call stacks as the stand-in reports them. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// The innermost call that is the program's own: "train(int)", or "train+0x1a2b" of a program that
// exports no names.
std::string own_frame(const nlohmann::json& frames);

}  // namespace headroom
