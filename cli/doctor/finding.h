// One check of this machine, and its result. No torch here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headroom {

struct Finding {
  enum class State {
    kOk,
    kNote,     // changes figures, or limits them
    kMissing,  // a part of headroom needs it
    kBroken,   // it is there, and stops a part of headroom
  };

  std::string area;  // heading: "cards", "programs", "host", "environment"
  std::string name;  // "driver"
  State state = State::kOk;
  std::string found;           // one line
  std::string effect;          // commands and flags that need it, or figures that change; "" = none
  std::string repair;          // a command as typed; "" = there is none
  bool needed_by_all = false;  // missing or broken: no step runs
  nlohmann::json figures = nlohmann::json::object();  // the same for programs: bytes, MHz
};

using Findings = std::vector<Finding>;

}  // namespace headroom
