#include "profiling/report/figures/memory_over_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "profiling/report/figures/plot.h"
#include "profiling/report/rows/cells.h"
#include "profiling/snapshot/analysis/live_blocks.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr size_t kColumns = 280;
constexpr size_t kFewestColumns = 12;  // of a phase, so that its name fits
constexpr size_t kMostPhases = 8;      // more are drawn as one stretch

constexpr size_t kMostPurposes = 7;  // colours that a reader can tell apart
constexpr const char* kOthers = "other purposes";

// The live bytes at one moment.
struct Sizes {
  std::map<std::string, int64_t> bytes;  // by purpose
  int64_t sum = 0;

  int64_t of(const std::string& purpose) const {
    const auto known = bytes.find(purpose);
    return known == bytes.end() ? 0 : known->second;
  }
};

// One stretch of a device's events, in columns of the figure.
struct Stretch {
  std::string phase;          // "" outside of phases
  size_t begin = 0, end = 0;  // events
  size_t columns = 0;
};

// The stretches that the outermost annotations of the device bound; one of all events where there
// are none.
std::vector<Stretch> stretches_of(const Snapshot& snapshot, size_t device) {
  const std::vector<TraceEvent>& trace = snapshot.device_traces[device];
  std::vector<Stretch> found = {{}};
  int depth = 0;
  for (const Annotation& annotation : snapshot.annotations) {
    if (annotation.device != static_cast<int64_t>(device)) continue;
    depth += annotation.is_start ? 1 : -1;
    if (depth != (annotation.is_start ? 1 : 0)) continue;  // inside another
    const auto event = std::partition_point(trace.begin(), trace.end(), [&](const TraceEvent& one) {
      return one.time_us <= annotation.time_us;
    });
    found.back().end = static_cast<size_t>(event - trace.begin());
    found.push_back(
        {.phase = annotation.is_start ? readable(annotation.name) : "", .begin = found.back().end});
  }
  found.back().end = trace.size();
  std::erase_if(found, [](const Stretch& stretch) { return stretch.begin >= stretch.end; });
  if (found.size() > kMostPhases || found.empty()) found = {{.begin = 0, .end = trace.size()}};
  return found;
}

// An optimizer that is written out makes more events than the rest of a step, hence the root.
void share_columns(std::vector<Stretch>& stretches) {
  double roots = 0;
  for (const Stretch& one : stretches) roots += std::sqrt(static_cast<double>(one.end - one.begin));
  for (Stretch& one : stretches) {
    const double share = std::sqrt(static_cast<double>(one.end - one.begin)) / std::max(roots, 1.0);
    one.columns = std::max(kFewestColumns, static_cast<size_t>(share * kColumns));
  }
}

// Replays the events of a device, with the bytes of each purpose.
class PurposeReplay {
 public:
  PurposeReplay(const Snapshot& snapshot, size_t device)
      : snapshot_(snapshot), live_(live_before(snapshot, device)) {
    for (const auto& [address, block] : live_) count(block, block.size);
  }

  void apply_event(const TraceEvent& event) {
    if (const auto block = live_.find(event.address); block != live_.end()) {
      count(block->second, -block->second.size);
    }
    apply(event, live_);
    if (const auto block = live_.find(event.address); block != live_.end()) {
      count(block->second, block->second.size);
    }
  }

  const Sizes& now() const { return now_; }

 private:
  void count(const TracedBlock& block, int64_t bytes) {
    const std::string purpose = purpose_of(snapshot_, block.label, block.stack);
    now_.bytes[purpose.empty() ? "not recorded" : readable(purpose)] += bytes;
    now_.sum += bytes;
  }

  const Snapshot& snapshot_;
  TracedBlocks live_;
  Sizes now_;
};

struct DeviceColumns {
  size_t device = 0;
  std::vector<Stretch> stretches;
  std::vector<Sizes> columns;  // the fullest moment of each
  Sizes fullest;
};

DeviceColumns columns_of(const Snapshot& snapshot, size_t device) {
  DeviceColumns found{.device = device, .stretches = stretches_of(snapshot, device)};
  share_columns(found.stretches);
  const std::vector<TraceEvent>& trace = snapshot.device_traces[device];
  PurposeReplay replay(snapshot, device);
  size_t event = 0;
  for (const Stretch& one : found.stretches) {
    for (size_t column = 1; column <= one.columns; ++column) {
      const size_t end = one.begin + (one.end - one.begin) * column / one.columns;
      Sizes fullest = replay.now();
      for (; event < end; ++event) {
        replay.apply_event(trace[event]);
        if (replay.now().sum > fullest.sum) fullest = replay.now();
      }
      if (fullest.sum > found.fullest.sum) found.fullest = fullest;
      found.columns.push_back(std::move(fullest));
    }
  }
  return found;
}

DeviceColumns columns_of_fullest_device(const Snapshot& snapshot) {
  DeviceColumns fullest;
  for (size_t device = 0; device < snapshot.device_traces.size(); ++device) {
    DeviceColumns columns = columns_of(snapshot, device);
    if (columns.fullest.sum > fullest.fullest.sum) fullest = std::move(columns);
  }
  return fullest;
}

// From the bottom up: first the purposes that stay. Those beyond the colours become one.
std::vector<std::string> order_purposes(std::vector<Sizes>& columns, const Sizes& peak) {
  std::vector<std::string> order;
  for (const auto& [purpose, bytes] : columns.back().bytes) order.push_back(purpose);
  std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return peak.of(a) > peak.of(b);
  });
  if (order.size() > kMostPurposes) {
    for (Sizes& column : columns) {
      for (size_t i = kMostPurposes - 1; i < order.size(); ++i) {
        column.bytes[kOthers] += column.of(order[i]);
      }
    }
    order.resize(kMostPurposes - 1);
    order.emplace_back(kOthers);
  }
  std::map<std::string, int64_t> least;
  for (const std::string& purpose : order) {
    least[purpose] = peak.sum;
    for (const Sizes& column : columns) {
      least[purpose] = std::min(least[purpose], column.of(purpose));
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const std::string& a, const std::string& b) { return least[a] > least[b]; });
  return order;
}

// One column's level; a level that goes on moves its end.
void add_level(std::vector<SvgPoint>& edge, size_t column, double level) {
  if (edge.empty() || edge.back().y != level)
    edge.push_back({static_cast<double>(column), level});
  else
    edge.pop_back();
  edge.push_back({static_cast<double>(column + 1), level});
}

void draw_areas(Plot& plot, const std::vector<Sizes>& columns,
                const std::vector<std::string>& order) {
  std::vector<double> below(columns.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    std::vector<SvgPoint> edge;
    std::vector<SvgPoint> bottom;
    for (size_t x = 0; x < columns.size(); ++x) {
      add_level(bottom, x, below[x]);
      below[x] += static_cast<double>(columns[x].of(order[i]));
      add_level(edge, x, below[x]);
    }
    edge.insert(edge.end(), bottom.rbegin(), bottom.rend());
    plot.add_area(edge, plot_colour(i), order[i]);
  }
  for (size_t i = order.size(); i-- > 0;) plot.add_key(plot_colour(i), false, order[i]);
}

void draw_phases(Plot& plot, const std::vector<Stretch>& stretches) {
  std::vector<std::pair<double, std::string>> names;
  double x = 0;
  for (const Stretch& one : stretches) {
    if (x > 0) plot.add_upright(x);
    names.emplace_back(x + static_cast<double>(one.columns) / 2, one.phase);
    x += static_cast<double>(one.columns);
  }
  plot.add_x_ticks(names);
}

}  // namespace

Figure memory_over_time(const Snapshot& snapshot, const std::string& name) {
  auto [device, stretches, columns, fullest] = columns_of_fullest_device(snapshot);
  if (fullest.sum == 0) throw std::runtime_error(name + ": no block of it ever lives");
  const std::vector<std::string> order = order_purposes(columns, fullest);
  Figure figure{.title = name + ": " + format_bytes(fullest.sum) + " requested at the peak"};
  Plot plot(
      figure.title,
      stretches.size() > 1 ? "allocator events; each phase has its own scale" : "allocator events",
      "live memory", static_cast<double>(columns.size()), static_cast<double>(fullest.sum));
  plot.add_byte_ticks_y();
  draw_areas(plot, columns, order);
  draw_phases(plot, stretches);
  figure.svg = plot.svg();
  figure.notes.push_back("peak drawn: " + bytes_in_full(fullest.sum) + " on device " +
                         std::to_string(device));
  return figure;
}

}  // namespace headroom
