// One process of the cell program: its input, and the meaning of its end. No torch here.
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
  // For cells on the device of `first` and with its --alloc-conf. Throws UsageError on an unknown
  // virtual card, std::runtime_error if the stand-in is not built.
  CellProcess(const RunSpec& first, const CellOptions& options);

  // Each spec is a line of its input. Returns after the process ended.
  void run(const std::vector<RunSpec>& specs,
           const std::function<void(const std::string& line)>& on_output_line);

  // Sends the spec to a warm worker and returns its answer; nothing if the worker ended first, see
  // outcome().
  std::optional<std::string> run_by(CellWorker& worker, const RunSpec& spec);

  const std::string& program() const { return program_; }
  const std::vector<std::string>& environment() const { return environment_; }
  const CellOptions& options() const { return options_; }
  const Outcome& outcome() const { return outcome_; }
  std::string end() const;  // the reason of an abnormal end; "" = normal

  // The Record of a cell that wrote no readable one; `problem` describes its output.
  Record explained(const RunSpec& spec, const std::string& problem) const;

  // Adds the facts known only to the parent.
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
