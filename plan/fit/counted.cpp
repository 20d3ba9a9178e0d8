#include "plan/fit/counted.h"

#include <utility>

namespace headroom {
namespace {

// `ask`, which adds one to `count` each time; empty where it is empty.
template <typename Answer>
std::function<Answer(const RunSpec&)> counting(std::function<Answer(const RunSpec&)> ask,
                                               std::shared_ptr<std::atomic<size_t>> count) {
  if (!ask) return ask;
  return [ask = std::move(ask), count = std::move(count)](const RunSpec& spec) {
    ++*count;
    return ask(spec);
  };
}

}  // namespace

Judge QuestionCounter::counted(Judge judge) const {
  const auto at = [this](std::atomic<size_t>& count) {
    return std::shared_ptr<std::atomic<size_t>>(counts_, &count);
  };
  judge.floor = counting(std::move(judge.floor), at(counts_->floors));
  judge.need = counting(std::move(judge.need), at(counts_->needs));
  judge.about = counting(std::move(judge.about), at(counts_->guesses));
  judge.fits = counting(std::move(judge.fits), at(counts_->fits));
  judge.host = counting(std::move(judge.host), at(counts_->hosts));
  judge.run = counting(std::move(judge.run), at(counts_->cells));
  return judge;
}

Questions QuestionCounter::so_far() const {
  return {.floors = counts_->floors,
          .needs = counts_->needs,
          .guesses = counts_->guesses,
          .fits = counts_->fits,
          .hosts = counts_->hosts,
          .cells = counts_->cells};
}

}  // namespace headroom
