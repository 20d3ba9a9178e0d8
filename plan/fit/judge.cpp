#include "plan/fit/judge.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "bench/process/interrupt.h"
#include "plan/fit/need.h"
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

// Runs cells and says how far the search is.
class Runs {
 public:
  Runs(RememberedCells& cells, const FitProgress& progress) : cells_(cells), progress_(progress) {}

  void expect(size_t cells) { all_ = done_ + cells; }

  Verdict run(const RunSpec& spec) {
    all_ = std::max(all_, done_ + 1);
    const std::string count = std::to_string(done_ + 1) + " of " + std::to_string(all_);
    if (progress_.on_status) {
      progress_.on_status("cell " + count + ": " + row_name(spec) + eta(all_ - done_));
    }
    const int ran_before = cells_.ran();
    const auto began = std::chrono::steady_clock::now();
    Verdict verdict = verdict_of(cells_.get(spec));
    if (interrupted()) return verdict;
    check_that_some_are_judged(verdict);
    ++done_;
    if (cells_.ran() > ran_before) {
      ++ran_;
      spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
    tell(spec, verdict);
    return verdict;
  }

 private:
  // A program that cannot start, or that no cell gets through, would fail for every set.
  void check_that_some_are_judged(const Verdict& verdict) {
    constexpr int kEnough = 3;
    if (verdict.fits != Fits::kUnknown) unjudged_ = std::nullopt;
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

  RememberedCells& cells_;
  const FitProgress& progress_;
  std::optional<int> unjudged_ = 0;  // while none was judged
  size_t done_ = 0;
  size_t all_ = 0;    // expected
  size_t ran_ = 0;    // and not read from the file
  double spent_ = 0;  // seconds in those
};

}  // namespace

Verdict verdict_of(Record record) {
  Verdict verdict;
  if (record.status == Status::kOk && record.peak) {
    verdict.fits = Fits::kYes;
  } else if (record.status == Status::kOom && record.out_of_memory &&
             record.out_of_memory->memory == "device") {
    verdict.fits = Fits::kNo;
    verdict.reason = first_line(record.reason);
  } else {
    verdict.reason = to_string(record.status) + ": " + first_line(record.reason);
  }
  verdict.record = std::make_shared<const Record>(std::move(record));
  return verdict;
}

Judge judge_on(const Card& card, std::optional<int64_t> host_limit, RememberedCells& cells,
               const FitProgress& progress) {
  const auto runs = std::make_shared<Runs>(cells, progress);
  Judge judge{.capacity = capacity_of(card),
              .host_limit = host_limit,
              .floor = floor_bytes,
              .need = predicted_need,
              .fits = [room = capacity_of(card)](
                          const RunSpec& spec) { return predicted_to_fit(spec, room); },
              .host = predicted_host_bytes,
              .run = [runs](const RunSpec& spec) { return runs->run(spec); },
              .stopped = interrupted,
              .on_theory = {},
              .on_expected = [runs](size_t left) { runs->expect(left); }};
  judge.on_theory = [&progress](size_t done, size_t all) {
    if (!progress.on_status) return;
    progress.on_status("theory: set " + std::to_string(done + 1) + " of " + std::to_string(all));
  };
  return judge;
}

}  // namespace headroom
