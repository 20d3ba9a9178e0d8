// headroom cards: see cli/commands/cards.cpp.
#pragma once

namespace headroom {

int run_cards_command(int argc, char** argv);

}  // namespace headroom
