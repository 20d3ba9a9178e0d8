// Runs of a user's program one after another, each with a line of progress. No torch here.
#pragma once

#include <cstddef>
#include <string>

#include "bench/dryrun/dryrun.h"
#include "plan/fit/vary.h"

namespace headroom {

class TriedRuns {
 public:
  // `signals`: held from the first run to the last, so that ^C between runs is not lost.
  // `expected`: an upper bound of the number of runs, for the ETA; 0 = not known.
  explicit TriedRuns(const HeldSignals& signals, size_t expected = 0)
      : signals_(signals), expected_(expected) {}

  // Blocks until the program ended; its output is caught. After ^C every run is unknown at once.
  ProgramRun run(const DryRun& request, const std::string& name);
  bool stopped();
  size_t done() const { return done_; }
  double seconds() const { return seconds_; }

 private:
  std::string eta() const;

  const HeldSignals& signals_;
  const size_t expected_;
  size_t done_ = 0;
  double seconds_ = 0;
  bool stopped_ = false;
};

}  // namespace headroom
