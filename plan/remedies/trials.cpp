#include "plan/remedies/trials.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/process/interrupt.h"
#include "text/quantity.h"

namespace headroom {
namespace {

Remedy joined(Remedy one, const Remedy& more) {
  for (const auto& setting : more) {
    if (std::find(one.begin(), one.end(), setting) == one.end()) one.push_back(setting);
  }
  return one;
}

std::string outcome(const Record& record) {
  if (record.status == Status::kOk) return "runs";
  std::string text = to_string(record.status);
  if (!record.out_of_memory) return text + (record.reason.empty() ? "" : ": " + record.reason);
  const std::string& phase = record.out_of_memory->phase;
  return text + " in " + (phase.empty() ? record.out_of_memory->during : phase);
}

std::string peak_text(const Record& record) {
  return record.peak ? format_bytes(record.peak->allocated) + " allocated, " +
                           format_bytes(record.peak->reserved) + " reserved"
                     : "";
}

TriedRemedy run(const Remedy& remedy, PpoRun cell, CellOptions options) {
  cell.shared.snapshot.clear();
  cell.shared.record_steps = 0;
  cell.setup.iterations = 1;
  options.ppo = cell.setup;
  options.on_talk = nullptr;
  return {remedy, run_cell(cell.shared, options)};
}

class Trials {
 public:
  Trials(const Record& refused, const CellOptions& options, const OnTrial& on_line)
      : cell_{refused.spec, *options.ppo},
        refused_(*refused.out_of_memory),
        options_(options),
        on_line_(on_line) {}

  std::vector<TriedRemedy> take() {
    if (!each_alone()) together();
    return std::move(tried_);
  }

 private:
  bool runs() const { return !tried_.empty() && tried_.back().runs(); }

  // True if the trials are over. Caches are emptied, so that fragmentation does not count.
  bool each_alone() {
    const Remedy emptied = {{"empty_cache_between_phases", "true"}};
    for (const Remedy& remedy : remedies_for(cell_, refused_)) {
      const Remedy both = joined(with(cell_, emptied) ? emptied : Remedy(), remedy);
      if (!attempt(both)) return true;
      if (!runs()) continue;
      leave_out_what_is_not_needed(tried_.back());
      return true;
    }
    return false;
  }

  void together() {
    Remedy all;  // every list begins with the emptied cache
    OutOfMemory moment = refused_;
    while (const auto more = one_more(all, moment)) {
      all = *more;
      if (find(all) == nullptr && !attempt(all)) return;
      const TriedRemedy& made = *find(all);
      if (made.runs()) return leave_out_what_is_not_needed(made);
      if (made.record.out_of_memory) moment = *made.record.out_of_memory;
    }
  }

  // The set-up must allow the remedy. False if the trials must end.
  bool attempt(const Remedy& remedy) {
    TriedRemedy made = run(remedy, *with(cell_, remedy), options_);
    if (interrupted()) return false;
    on_line_("tried " + flags_of(remedy) + ": " + outcome(made.record));
    tried_.push_back(std::move(made));
    return true;
  }

  const TriedRemedy* find(const Remedy& remedy) const {
    const auto found = std::find_if(tried_.begin(), tried_.end(),
                                    [&](const TriedRemedy& one) { return one.remedy == remedy; });
    return found == tried_.end() ? nullptr : &*found;
  }

  // Adds the first remedy for that place that changes something; nullopt if there is none.
  std::optional<Remedy> one_more(const Remedy& all, const OutOfMemory& moment) const {
    for (const Remedy& remedy : remedies_for(cell_, moment)) {
      Remedy more = joined(all, remedy);
      if (more != all && with(cell_, more)) return more;
    }
    return std::nullopt;
  }

  // Tries to drop each setting in turn, the dearest first. The answer is moved to the end.
  void leave_out_what_is_not_needed(TriedRemedy best) {
    const Remedy dearest_first(best.remedy.rbegin(), best.remedy.rend());
    for (const auto& setting : dearest_first) {
      Remedy fewer = best.remedy;
      std::erase(fewer, setting);
      if (fewer.empty() || find(fewer) != nullptr || !with(cell_, fewer)) continue;
      if (!attempt(fewer)) break;
      if (runs()) best = tried_.back();
    }
    std::erase_if(tried_, [&](const TriedRemedy& one) { return one.remedy == best.remedy; });
    tried_.push_back(std::move(best));
  }

  PpoRun cell_;
  OutOfMemory refused_;
  const CellOptions& options_;
  const OnTrial& on_line_;
  std::vector<TriedRemedy> tried_;
};

}  // namespace

std::vector<TriedRemedy> try_remedies(const Record& refused, const CellOptions& options,
                                      const OnTrial& on_line) {
  if (!refused.out_of_memory || !options.ppo) return {};
  return Trials(refused, options, on_line).take();
}

std::string conclusion(const std::vector<TriedRemedy>& tried) {
  if (tried.empty()) return "no remedy was tried";
  const TriedRemedy& last = tried.back();
  if (last.runs()) {
    return "it runs with " + flags_of(last.remedy) + " (tried): peak " + peak_text(last.record);
  }
  return "none of " + std::to_string(tried.size()) + " settings tried avoids it, the last was " +
         flags_of(last.remedy);
}

Table remedies_table(const std::vector<TriedRemedy>& tried) {
  Table table{
      .title = "Remedies tried",
      .columns = {{"with"}, {"outcome"}, {"peak allocated", true}, {"peak reserved", true}}};
  for (const TriedRemedy& one : tried) {
    const std::optional<MemoryBytes>& peak = one.record.peak;
    table.rows.push_back({flags_of(one.remedy), outcome(one.record),
                          peak ? format_bytes(peak->allocated) : "",
                          peak ? format_bytes(peak->reserved) : ""});
  }
  return table;
}

}  // namespace headroom
