// Call stacks in the stand-in's reports. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// The program's own innermost call: "train(int)", or "train+0x1a2b" in a program that exports no
// names.
std::string own_frame(const nlohmann::json& frames);

}  // namespace headroom
