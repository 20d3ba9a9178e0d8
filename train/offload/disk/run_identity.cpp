#include "train/offload/disk/run_identity.h"

#include "text/words.h"

namespace headroom {
namespace {

// Always included; the dimensions and kIfChanged only if not the default.
constexpr const char* kSaid[] = {"model_size", "context_length", "batch_size",
                                 "precision",  "optimizer",      "seed"};
constexpr const char* kIfChanged[] = {"weights", "learning_rate", "weight_decay", "max_grad_norm",
                                      "tokens",  "token_type",    "load_weights", "master_weights"};

}  // namespace

std::string run_identity(const RunSpec& spec) {
  const RunSpec defaults;
  std::vector<std::string> parts;
  const auto say = [&](const char* name, bool always) {
    const Field& field = *find_field(name);
    const std::string value = field.get(spec);
    if (always || value != field.get(defaults)) parts.push_back(std::string(name) + "=" + value);
  };
  for (const char* name : kSaid) say(name, true);
  for (const Dimension& dimension : kDimensions) say(dimension.name, false);
  for (const LayerSwitch& layer : kLayerSwitches) say(layer.name, false);
  for (const char* name : kIfChanged) say(name, false);
  return join(parts, " ");
}

}  // namespace headroom
