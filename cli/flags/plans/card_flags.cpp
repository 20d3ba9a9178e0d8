#include "cli/flags/plans/card_flags.h"

#include <cctype>

#include "text/quantity.h"

namespace headroom {

std::vector<Flag> card_flags(const std::string& group) {
  return {{.name = "gpu-memory",
           .value = "SIZE",
           .help = "memory of one GPU, in GB if no unit is given (default 80)",
           .group = group,
           .example = "--gpu-memory 80"},
          {"card", "NAME", "card of `headroom cards`, instead of --gpu-memory", group}};
}

Card card_from(const Arguments& arguments) {
  if (arguments.has("card")) {
    if (arguments.has("gpu-memory")) {
      throw UsageError("--gpu-memory", arguments.get("gpu-memory"),
                       "conflicts with --card, which sets the memory too; give one of them",
                       "--card h100-80gb");
    }
    return find_card(arguments.get("card"));
  }
  Card card = find_card("h100-80gb");
  std::string size = arguments.get("gpu-memory", "80");
  if (!size.empty() && (std::isdigit(static_cast<unsigned char>(size.back())) != 0)) size += "GB";
  card.total_bytes = parse_bytes("--gpu-memory", size);
  card.name = size;
  card.context_measured = false;  // taken from another card
  if (card.total_bytes < 1) {
    throw UsageError("--gpu-memory", size, "is no memory; allowed: above 0", "--gpu-memory 80");
  }
  return card;
}

}  // namespace headroom
