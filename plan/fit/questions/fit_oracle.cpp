#include "plan/fit/questions/fit_oracle.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "bench/process/cores.h"
#include "bench/process/interrupt.h"
#include "plan/cost/fullest_ranks.h"
#include "plan/fit/answers/side_by_side.h"
#include "plan/fit/questions/capacity.h"
#include "plan/fit/questions/cells_ahead.h"
#include "plan/fit/questions/need.h"
#include "text/quantity.h"

namespace headroom {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string in_words(Fits fits) {
  switch (fits) {
    case Fits::kYes:
      return "fits";
    case Fits::kNo:
      return "does not fit";
    case Fits::kUnknown:
      break;
  }
  return "not judged";
}

// Memory refused to offload is in no allocator's statistics, only in the reason.
bool names_host_limit(const std::string& reason) { return reason.ends_with("(--host-memory)"); }

// On a mesh the ranks that can be fullest, each run alone.
RankChoice ranks_of(const RunSpec& spec) {
  if (spec.mesh.ranks() == 1) return {};
  return {.kind = RankChoice::Kind::kListed, .ranks = fullest_ranks(spec)};
}

// For a bound on some rank: NCCL takes least on rank 0.
int64_t with_nccl(const RunSpec& spec, int64_t bytes) { return bytes + nccl_bytes_of(spec, 0); }

// Runs cells and reports progress.
class Runs {
 public:
  Runs(RememberedCells& cells, bool limits_host, const FitProgress& progress)
      : limits_host_(limits_host),
        progress_(progress),
        cells_([&cells](const RunSpec& spec) { return cells.get(spec, ranks_of(spec)); },
               std::min(cores(), kMostAtOnce)) {}

  void expect(size_t cells) { all_ = done_ + cells; }

  // No cell runs ahead until one is judged: three failures end the search.
  void prefetch(const std::vector<RunSpec>& specs) {
    prefetched_ = specs;
    if (!unjudged_) cells_.prefetch(prefetched_);
  }

  Verdict run(const RunSpec& spec) {
    all_ = std::max(all_, done_ + 1);
    const std::string count = std::to_string(done_ + 1) + " of " + std::to_string(all_);
    if (progress_.on_status) {
      progress_.on_status("cell " + count + ": " + row_name(spec) + eta(all_ - done_));
    }
    const auto began = std::chrono::steady_clock::now();
    RememberedCell cell = cells_.get(spec);
    for (const std::string& line : cell.talk) progress_.on_line(line);
    Verdict verdict = verdict_of(std::move(cell.record), limits_host_);
    if (interrupted()) return verdict;
    check_that_some_are_judged(verdict);
    ++done_;
    if (!cell.reused) {
      ++ran_;
      spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
    tell(spec, verdict);
    return verdict;
  }

 private:
  // A program that cannot start, or whose cells all fail, would fail for every set.
  void check_that_some_are_judged(const Verdict& verdict) {
    constexpr int kEnough = 3;
    if (unjudged_ && verdict.fits != Fits::kUnknown) {
      unjudged_ = std::nullopt;
      cells_.prefetch(prefetched_);
    }
    if (!unjudged_ || ++*unjudged_ < kEnough) return;
    const Status status = verdict.record->status;
    throw NoCellRuns("no cell runs: " + verdict.reason,
                     status == Status::kUnsupported || status == Status::kUnwritable);
  }

  void tell(const RunSpec& spec, const Verdict& verdict) const {
    std::string line = "[" + std::to_string(done_) + "/" + std::to_string(all_) + "] " +
                       row_name(spec) + " " + in_words(verdict.fits);
    if (verdict.fits == Fits::kYes) line += " " + format_bytes(verdict.record->peak->allocated);
    if (verdict.fits == Fits::kUnknown) line += ": " + verdict.reason;
    progress_.on_line(line + eta(all_ - done_));
  }

  std::string eta(size_t left) const {
    if (ran_ == 0 || left == 0) return "";
    return ", ETA " + eta_text(spent_ / static_cast<double>(ran_) * static_cast<double>(left));
  }

  static constexpr size_t kMostAtOnce = 4;  // a cell's process takes half a GiB

  const bool limits_host_;
  const FitProgress& progress_;
  std::optional<int> unjudged_ = 0;  // number of failures until the first verdict
  std::vector<RunSpec> prefetched_;
  size_t done_ = 0;
  size_t all_ = 0;    // expected
  size_t ran_ = 0;    // not read from the file
  double spent_ = 0;  // seconds waited for those
  CellsAhead cells_;
};

}  // namespace

Verdict verdict_of(Record record, bool limits_host) {
  Verdict verdict;
  const std::string full = record.out_of_memory ? record.out_of_memory->memory : "";
  verdict.of_host = limits_host && (full == "host" || names_host_limit(first_line(record.reason)));
  if (record.status == Status::kOk && record.peak) {
    verdict.fits = Fits::kYes;
  } else if (record.status == Status::kOom && (full == "device" || verdict.of_host)) {
    verdict.fits = Fits::kNo;
    verdict.reason = first_line(record.reason);
  } else {
    verdict.reason = to_string(record.status) + ": " + first_line(record.reason);
  }
  verdict.record = std::make_shared<const Record>(std::move(record));
  return verdict;
}

FitOracle judge_on(const Card& card, const FitQuestion& question, AskedCard& asked,
                   RememberedCells& cells, const FitProgress& progress) {
  const std::optional<int64_t> host_limit = host_limit_of_a_rank(question);
  const int64_t capacity = capacity_of(card);
  const auto runs = std::make_shared<Runs>(cells, host_limit.has_value(), progress);
  FitOracle oracle{
      .capacity = capacity,
      .host_limit = host_limit,
      .states = [](const RunSpec& spec) { return with_nccl(spec, states_bytes(spec)); },
      .floor = [](const RunSpec& spec) { return with_nccl(spec, floor_bytes(spec)); },
      .need =
          [&asked](const RunSpec& spec) {
            return has_predicted_need(spec) ? predicted_need(spec) : asked.need(spec);
          },
      .least =
          [&asked](const RunSpec& spec) {
            return has_predicted_need(spec) ? 0 : asked.least(spec);
          },
      .about =
          [&asked](const RunSpec& spec) {
            return has_predicted_need(spec) ? predicted_roughly(spec) : asked.least(spec);
          },
      .fits =
          [&asked, capacity](const RunSpec& spec) {
            if (!has_predicted_need(spec)) return asked.fits(spec);
            const bool fits = predicted_to_fit(spec, capacity);
            return fits && (knows_allocator_of(spec) || asked.fits(spec));
          },
      .host =
          [](const RunSpec& spec) {
            return std::max(predicted_host_need(spec).bytes(), least_host_bytes(spec));
          },
      .run = [runs](const RunSpec& spec) { return runs->run(spec); },
      .prefetch = [runs](const std::vector<RunSpec>& specs) { runs->prefetch(specs); },
      .stopped = interrupted,
      .on_theory = {},
      .on_expected = [runs](size_t left) { runs->expect(left); }};
  oracle.on_theory = [&progress](size_t done, size_t all) {
    if (!progress.on_status) return;
    progress.on_status("theory: set " + std::to_string(done + 1) + " of " + std::to_string(all));
  };
  return oracle;
}

}  // namespace headroom
