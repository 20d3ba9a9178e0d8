// The largest batch, or context, with each set of techniques.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "plan/fit/meshes/mesh_sets.h"
#include "plan/fit/questions/estimates.h"
#include "plan/fit/questions/need.h"
#include "plan/fit/searches.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// A mesh's batch is that of all replicas: more replicas do more in a step.
int64_t replicas_of(const FitQuestion& question, const RunSpec& spec) {
  return question.meshes.gpus > 1 ? spec.mesh.size(MeshAxis::kData) : 1;
}

RunSpec at(const FitQuestion& question, RunSpec spec, int64_t value) {
  if (question.open == Open::kBatch) {
    spec.batch_size = value / replicas_of(question, spec);
  } else {
    spec.context_length = value;
  }
  return spec;
}

// Values on the set's mesh must be multiples of this.
int64_t unit_of(const FitQuestion& question, const RunSpec& spec) {
  if (question.open == Open::kBatch) return spec.micro_batches * replicas_of(question, spec);
  return spec.sequence_parallel ? spec.mesh.size(MeshAxis::kTensor) : 1;
}

// Uses a value at which every set is valid; meshes have their own.
FitQuestion with_any_value(const FitQuestion& question) {
  FitQuestion with = question;
  if (question.meshes.gpus == 1) with.base = at(question, question.base, kAnyStride);
  return with;
}

bool is_valid(const RunSpec& spec) {
  try {
    validate(spec);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// A set, and its reach: the largest value by theory.
struct Point {
  size_t place = 0;
  int64_t value = 0;
};

// Reduces the points to `most`, the first and the last included: keeps the largest gains over the
// point before.
std::vector<Point> thinned(std::vector<Point> points, size_t most) {
  while (points.size() > most) {
    size_t weakest = 1;
    double least = 0;
    for (size_t i = 1; i + 1 < points.size(); ++i) {
      const double gain =
          static_cast<double>(points[i].value) / static_cast<double>(points[i - 1].value);
      if (i == 1 || gain < least) {
        weakest = i;
        least = gain;
      }
    }
    points.erase(points.begin() +
                 static_cast<std::ptrdiff_t>(std::min(weakest, points.size() - 2)));
    if (most < 2 && points.size() <= 2) break;
  }
  return points;
}

class LargestValues {
 public:
  LargestValues(const FitQuestion& question, const FitOracle& oracle)
      : question_(question),
        oracle_(oracle),
        sets_(sets_of(with_any_value(question), oracle)),
        estimates_(oracle) {
    result_.sets = sets_.size();
  }

  FitResult search() {
    std::vector<Point> points = thinned(frontier(), question_.answers);
    size_t told = 0;
    for (size_t i = 0; i < points.size() && !oracle_.stopped(); ++i) {
      oracle_.on_expected(2 * (points.size() - i));
      // Theory finds the next points while cells run.
      for (; told < std::min(points.size(), i + kAhead) && !oracle_.stopped(); ++told) {
        points[told].value = furthest(points[told]);
        prefetch(points, i, told + 1);
      }
      prove(points[i].place, points[i].value);
    }
    if (result_.answers.empty() && !oracle_.stopped() && !sets_.empty()) settle_nearest();
    result_.stopped = oracle_.stopped();
    result_.questions = estimates_.questions();
    return std::move(result_);
  }

 private:
  static constexpr size_t kAhead = 3;  // points

  // The values of the points from `first` to before `last`, and one step beyond each.
  void prefetch(const std::vector<Point>& points, size_t first, size_t last) const {
    std::vector<RunSpec> specs;
    for (size_t i = first; i < last; ++i) {
      const auto& [place, value] = points[i];
      const Range all = range(place);
      specs.push_back(spec(place, value));
      if (value + all.stride <= all.most) specs.push_back(spec(place, value + all.stride));
    }
    oracle_.prefetch(specs);
  }

  // Sets that by theory reach further than every cheaper one.
  std::vector<Point> frontier() {
    std::vector<Point> points;
    for (size_t i = 0; i < sets_.size() && !oracle_.stopped(); ++i) {
      oracle_.on_theory(i, sets_.size());
      const int64_t beaten = points.empty() ? 0 : points.back().value;
      const int64_t value = reach(i, beaten);
      if (value <= beaten) continue;
      points.push_back({i, value});
      if (value >= range(i).most) break;
    }
    return points;
  }

  Range range(size_t place) const {
    const int64_t unit = unit_of(question_, sets_[place].spec);
    int64_t stride = unit;
    while (stride < kAnyStride * unit && !is_valid(spec(place, stride))) stride *= 2;
    return {.least = stride, .most = question_.most / stride * stride, .stride = stride};
  }

  RunSpec spec(size_t place, int64_t value) const {
    return at(question_, sets_[place].spec, value);
  }

  // The first value beyond `beaten`, or none.
  std::optional<int64_t> first_beyond(size_t place, int64_t beaten) const {
    const Range all = range(place);
    const int64_t next = std::max(all.least, (beaten / all.stride + 1) * all.stride);
    if (next > all.most) return std::nullopt;
    return next;
  }

  // Note [Asked ahead]
  void ask_ahead(size_t first, int64_t beaten) {
    std::vector<RunSpec> specs;
    for (size_t i = first; i < sets_.size() && specs.size() < Estimates::ahead(); ++i) {
      const auto next = first_beyond(i, beaten);
      if (next && estimates_.fits_host(spec(i, *next))) specs.push_back(spec(i, *next));
    }
    estimates_.ask_ahead(specs);
  }

  // The largest value by theory, or 0 where it is not beyond `beaten`.
  int64_t reach(size_t place, int64_t beaten) {
    const auto next = first_beyond(place, beaten);
    if (!next) return 0;
    if (!estimates_.knows(spec(place, *next))) ask_ahead(place, beaten);
    if (!estimates_.fits(spec(place, *next))) return 0;
    const Range all = range(place);
    const Range above{.least = *next, .most = all.most, .stride = all.stride};
    // First the reach of the floor, which is cheap to compute.
    const int64_t most = *largest_that_fits(above, *next, [&](int64_t value) {
      const RunSpec one = spec(place, value);
      const bool has_room = estimates_.floor(one) <= oracle_.capacity && estimates_.fits_host(one);
      return has_room ? Fits::kYes : Fits::kNo;
    });
    const Range below{.least = *next, .most = most, .stride = all.stride};
    const int64_t first = guess(place, below);
    if (first + all.stride <= most) {
      estimates_.ask_ahead({spec(place, first), spec(place, first + all.stride)});
    }
    return *largest_that_fits(below, first, [&](int64_t value) {
      return estimates_.fits(spec(place, value)) ? Fits::kYes : Fits::kNo;
    });
  }

  // The need follows the floor at some distance: the guess is where the floor plus that distance
  // meets the capacity. The distance is measured there again, a few times.
  int64_t guess(size_t place, const Range& range) {
    constexpr int kTimes = 4;  // a need costs as much as fits()
    int64_t value = range.least;
    for (int i = 0; i < kTimes; ++i) {
      const int64_t above_floor =
          estimates_.about(spec(place, value)) - estimates_.floor(spec(place, value));
      const int64_t next = *largest_that_fits(range, value, [&](int64_t other) {
        const int64_t floor = estimates_.floor(spec(place, other));
        return floor <= oracle_.capacity - above_floor ? Fits::kYes : Fits::kNo;
      });
      if (std::abs(next - value) <= range.stride) return std::max(next, range.least);
      value = std::max(next, range.least);
    }
    return value;
  }

  // Fragmentation may refuse a value and still admit a larger one: a few values are tried between
  // this one and where the need meets the capacity, the largest first.
  int64_t furthest(const Point& point) {
    constexpr int64_t kTries = 8;
    const size_t place = point.place;
    const int64_t value = point.value;
    if (!sets_[place].spec.alloc_conf.empty()) return value;  // fragments little
    Range beyond = range(place);
    const int64_t room = guess(place, {value, beyond.most, beyond.stride}) - value;
    std::vector<int64_t> tries;
    for (int64_t i = kTries; i > 0; --i) {
      const int64_t next = value + room * i / kTries / beyond.stride * beyond.stride;
      if (next > value && (tries.empty() || next < tries.back())) tries.push_back(next);
    }
    std::vector<RunSpec> specs;
    for (const int64_t next : tries) specs.push_back(spec(place, next));
    estimates_.ask_ahead(specs);
    for (const int64_t next : tries) {
      if (oracle_.stopped()) break;
      if (!estimates_.fits(spec(place, next))) continue;
      beyond.least = next;
      return *largest_that_fits(beyond, next, [&](int64_t other) {
        return estimates_.fits(spec(place, other)) ? Fits::kYes : Fits::kNo;
      });
    }
    return value;
  }

  // Runs the set on the card; adds an answer if it reaches further than cheaper ones.
  void prove(size_t place, int64_t guess) {
    constexpr int64_t kRough = 64;
    const auto ask = [&](int64_t value) { return run(place, value).fits; };
    const int64_t first_step = knows_allocator_of(sets_[place].spec) ? 0 : guess / kRough;
    const auto largest = largest_that_fits(range(place), guess, ask, first_step);
    if (oracle_.stopped()) return;
    if (!largest) return note_unjudged(place);
    note_disagreement(place, guess, *largest);
    const int64_t beaten = result_.answers.empty() ? 0 : result_.answers.back().value;
    if (*largest > beaten) add(place, *largest);
  }

  void add(size_t place, int64_t value) {
    FitAnswer answer{.set = sets_[place],
                     .value = value,
                     .need = estimates_.need(spec(place, value)),
                     .verdict = run(place, value),
                     .beyond = std::nullopt};
    answer.set.spec = spec(place, value);
    const Range all = range(place);
    if (const int64_t next = value + all.stride; next <= all.most) {
      answer.beyond = Beyond{.what = name() + std::to_string(next),
                             .spec = spec(place, next),
                             .need = estimates_.need(spec(place, next)),
                             .verdict = run(place, next)};
    }
    result_.answers.push_back(std::move(answer));
  }

  std::string name() const {
    if (question_.open == Open::kContext) return "context ";
    return question_.meshes.gpus > 1 ? "global batch " : "batch ";
  }

  const Verdict& run(size_t place, int64_t value) {
    const auto known = verdicts_.find({place, value});
    if (known != verdicts_.end()) return known->second;
    return verdicts_[{place, value}] = estimates_.run(spec(place, value));
  }

  void note_unjudged(size_t place) {
    for (const auto& [where, verdict] : verdicts_) {
      if (where.first != place || verdict.fits != Fits::kUnknown) continue;
      result_.notes.push_back("not judged: " + sets_[place].in_words() + ", " + name() +
                              std::to_string(where.second) + ": " + verdict.reason);
    }
  }

  void note_disagreement(size_t place, int64_t theory, int64_t card) {
    if (theory == card || !knows_allocator_of(sets_[place].spec)) return;
    result_.notes.push_back("theory predicts " + name() + std::to_string(theory) + " with " +
                            sets_[place].in_words() + ", the card " +
                            (card == 0 ? "none" : std::to_string(card)) +
                            ": the answer of the card counts");
  }

  void settle_nearest() {
    std::vector<TechniqueSet> least = sets_;
    for (size_t i = 0; i < least.size(); ++i) least[i].spec = spec(i, range(i).least);
    const size_t place = estimates_.nearest(least);
    if (oracle_.stopped()) return;
    oracle_.on_expected(1);
    const int64_t value = range(place).least;
    const Fits fits = run(place, value).fits;
    if (fits == Fits::kYes) return prove(place, value);
    if (oracle_.stopped()) return;
    if (fits == Fits::kUnknown) return note_unjudged(place);
    result_.nearest = FitAnswer{.set = least[place],
                                .value = value,
                                .need = estimates_.need(least[place].spec),
                                .verdict = run(place, value),
                                .beyond = std::nullopt};
  }

  const FitQuestion& question_;
  const FitOracle& oracle_;
  std::vector<TechniqueSet> sets_;
  Estimates estimates_;
  std::map<std::pair<size_t, int64_t>, Verdict> verdicts_;
  FitResult result_;
};

}  // namespace

FitResult largest_values(const FitQuestion& question, const FitOracle& oracle) {
  return LargestValues(question, oracle).search();
}

}  // namespace headroom
