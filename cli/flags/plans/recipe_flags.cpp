#include "cli/flags/plans/recipe_flags.h"

#include "text/quantity.h"

namespace headroom {

std::vector<Flag> model_on_card_flags(const std::string& cards) {
  return {{.name = "config",
           .value = "NAME",
           .help = "public model (llama-3.1-8b, qwen2.5-7b, ...) or the path of a config.json",
           .group = "Model",
           .example = "--config llama-3.1-8b"},
          {"card", "CARD", "virtual card; headroom cards lists them", cards},
          {"bytes", "SIZE", "card memory instead of the real size: 40GiB, or unlimited", cards}};
}

ModelOnCard model_on_card(const Arguments& arguments, const std::string& command,
                          const std::string& card) {
  for (const char* flag : {"config", "card"}) {
    if (!arguments.has(flag))
      throw UsageError(std::string("--") + flag + " is needed; example: " + command);
  }
  ModelShape shape = find_shape(arguments.get("config"));
  return {std::move(shape),
          virtual_card({"--card", "--bytes", card}, arguments.get("card"), arguments.get("bytes"))};
}

std::string cards_text(int64_t count, const VirtualCard& card) {
  return (count > 1 ? std::to_string(count) + " x " : "") + card.card.name;
}

}  // namespace headroom
