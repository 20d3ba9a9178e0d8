// headroom theory: see cli/commands/theory.cpp.
#pragma once

namespace headroom {

int run_theory_command(int argc, char** argv);

}  // namespace headroom
