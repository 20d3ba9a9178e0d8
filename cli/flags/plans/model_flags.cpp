#include "cli/flags/plans/model_flags.h"

#include "text/words.h"
#include "train/settings/spec.h"

namespace headroom {

std::vector<Flag> model_flags(const std::string& what, const std::string& usual,
                              const std::string& group) {
  std::vector<Flag> flags = {
      {.name = "model-size",
       .value = "WORD",
       .help = what + ": " + join(model_size_names()) + " (default " + usual + ")",
       .group = group,
       .example = "--model-size " + usual}};
  for (const Dimension& dimension : kDimensions) {
    if (dimension.letter == 'K') continue;  // plans take d_model / heads
    const Field& field = *find_field(dimension.name);
    flags.push_back({.name = without_dashes(field.flag()),
                     .value = "N",
                     .help = field.help,
                     .group = group,
                     .example = field.example()});
  }
  return flags;
}

ModelConfig shape_from(const Arguments& arguments, const std::string& usual) {
  RunSpec spec{.model_size = usual};
  const auto set = [&](const char* name) {
    const Field& field = *find_field(name);
    const std::string flag = without_dashes(field.flag());
    if (arguments.has(flag)) field.set(spec, arguments.get(flag));
  };
  set("model_size");
  for (const Dimension& dimension : kDimensions) {
    if (dimension.letter != 'K') set(dimension.name);
  }
  return model_config(spec);
}

}  // namespace headroom
