// Starts of a serving engine on virtual cards, for headroom serve. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/commands/runs/quiet_run.h"
#include "cli/flags/plans/recipe_flags.h"
#include "plan/recipes/serving.h"
#include "plan/recipes/serving_search.h"

namespace headroom {

struct EngineQuestion {
  ModelOnCard model;
  Serving serving;
  std::string python;
  std::string bytes;               // --bytes, as typed
  std::string find;                // "" = nothing
  std::optional<int64_t> trainer;  // bytes of the card that training takes beside the engine
  bool may_lower = false;          // the utilization is not the user's
};

std::string cards_of(const Serving& serving, const VirtualCard& card);

// Starts engines one after another, with a line of progress for each. After ^C none starts.
class Engines {
 public:
  Engines(const EngineQuestion& question, const HeldSignals& signals)
      : question_(question), signals_(signals) {}

  ServingRun run(const Serving& serving, const VirtualCard& card);

  // For a search: prints the outcome under this name.
  Fits tried(const Serving& serving, const VirtualCard& card, const std::string& name);

  bool stopped() const { return stopped_; }

 private:
  const EngineQuestion& question_;
  const HeldSignals& signals_;
  bool stopped_ = false;
};

}  // namespace headroom
