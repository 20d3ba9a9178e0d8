// One process of the cell program: what it is told, and what its end means. No torch here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/launch/cell.h"
#include "bench/launch/ending.h"
#include "bench/process/virtual_card.h"

namespace headroom {

class CellProcess {
 public:
  // For cells on the device of `first` and with its --alloc-conf. Throws UsageError on a virtual
  // card that is none, std::runtime_error where the stand-in is not built.
  CellProcess(const RunSpec& first, const CellOptions& options);

  // Each spec is a line of its input. Returns when it has ended.
  void run(const std::vector<RunSpec>& specs,
           const std::function<void(const std::string& line)>& on_output_line);

  // The spec is the request of a warm worker, and what is returned its answer; nothing where the
  // worker ended first, and outcome() says how.
  std::optional<std::string> run_by(CellWorker& worker, const RunSpec& spec);

  const std::string& program() const { return program_; }
  const std::vector<std::string>& environment() const { return environment_; }
  const CellOptions& options() const { return options_; }
  const Outcome& outcome() const { return outcome_; }
  std::string end() const;  // why, where it should not have ended so; "" = as it should

  // Of a cell that wrote none that can be read; `problem` says what it wrote instead.
  Record explained(const RunSpec& spec, const std::string& problem) const;

  // Puts into the Record what only the parent knows.
  void complete(Record& record, double seconds, bool one_process, size_t cells_before) const;

 private:
  std::string request_for(const RunSpec& spec) const;
  void hear(const std::string& line);

  const CellOptions& options_;
  std::string program_;
  StderrRelay talk_;
  std::optional<VirtualCard> card_;
  std::vector<std::string> environment_;
  Outcome outcome_;
  bool oom_killer_ran_ = false;
};

}  // namespace headroom
