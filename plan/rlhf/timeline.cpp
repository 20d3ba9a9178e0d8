#include "plan/rlhf/timeline.h"

#include <algorithm>
#include <numeric>

#include "text/printable.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr size_t kRows = 16;
constexpr size_t kPhaseWidth = 18;
constexpr size_t kSwapWidth = 4;
constexpr size_t kLabelWidth = 12;

struct Glyph {
  const char* unicode;
  const char* ascii;
  const char* colour;  // ANSI foreground
};
constexpr std::array<Glyph, kComponentKinds> kGlyphs = {{{"\u2588", "W", "34"},
                                                         {"\u2592", "G", "35"},
                                                         {"\u2593", "O", "31"},
                                                         {"\u25a3", "K", "32"},
                                                         {"\u2591", "A", "33"},
                                                         {"\u25aa", "E", "36"},
                                                         {"\u25a0", "C", "37"}}};

std::string glyph_of(size_t kind, const TextStyle& style) {
  const Glyph& glyph = kGlyphs.at(kind);
  const std::string text = style.ascii ? glyph.ascii : glyph.unicode;
  return style.colour ? "\033[" + std::string(glyph.colour) + "m" + text + "\033[0m" : text;
}

const char* level_glyph(const TextStyle& style) { return style.ascii ? "=" : "\u2550"; }

std::string right_aligned(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string centred(const std::string& text, size_t width) {
  const std::string shown = text.substr(0, width);
  const size_t before = (width - shown.size()) / 2;
  return std::string(before, ' ') + shown + std::string(width - shown.size() - before, ' ');
}

size_t columns_of(const TimelineStretch& stretch) {
  return stretch.is_phase ? kPhaseWidth : kSwapWidth;
}

// The kind at a height of an instant's stack; kComponentKinds above it.
size_t kind_at(const KindBytes& bytes, double height) {
  double below = 0;
  for (size_t kind = 0; kind < kComponentKinds; ++kind) {
    below += static_cast<double>(bytes.at(kind));
    if (height < below) return kind;
  }
  return kComponentKinds;
}

// The fullest of the instants that one column of a stretch covers.
const KindBytes& column_of(const TimelineStretch& stretch, size_t column) {
  const size_t count = stretch.instants.size();
  const size_t first = column * count / columns_of(stretch);
  const size_t last = std::max(first + 1, (column + 1) * count / columns_of(stretch));
  return *std::max_element(stretch.instants.begin() + static_cast<std::ptrdiff_t>(first),
                           stretch.instants.begin() + static_cast<std::ptrdiff_t>(last),
                           [](const KindBytes& a, const KindBytes& b) { return sum(a) < sum(b); });
}

size_t row_of(const Timeline& timeline, int64_t bytes) {
  const int64_t step = std::max<int64_t>(timeline.highest() / static_cast<int64_t>(kRows), 1);
  return static_cast<size_t>(std::min<int64_t>(bytes / step, kRows - 1));
}

std::string row_text(const Timeline& timeline, size_t row, bool is_limit, const TextStyle& style) {
  const double height = (static_cast<double>(row) + 0.5) * static_cast<double>(timeline.highest()) /
                        static_cast<double>(kRows);
  std::string text;
  for (const TimelineStretch& stretch : timeline.stretches) {
    if (stretch.level && row_of(timeline, *stretch.level) == row) {
      for (size_t i = 0; i < columns_of(stretch); ++i) text += level_glyph(style);
      continue;
    }
    for (size_t i = 0; i < columns_of(stretch); ++i) {
      const size_t kind = kind_at(column_of(stretch, i), height);
      text += kind < kComponentKinds ? glyph_of(kind, style) : is_limit ? "-" : " ";
    }
  }
  return text;
}

std::string legend(const Timeline& timeline, const TextStyle& style) {
  std::vector<std::string> entries;
  for (size_t kind = 0; kind < kComponentKinds; ++kind) {
    if (timeline.has(kind)) {
      entries.push_back(glyph_of(kind, style) + " " + to_string(static_cast<ComponentKind>(kind)));
    }
  }
  if (!timeline.level.empty()) entries.push_back(level_glyph(style) + (" " + timeline.level));
  if (timeline.available > 0) entries.emplace_back("--- the GPU's memory");
  std::string text = "legend:";
  size_t used = text.size();
  for (const std::string& entry : entries) {  // keep each glyph with its name
    used += 2 + display_width(entry);
    if (style.width > 0 && used > style.width) {
      text += "\n       ";
      used = 7 + 2 + display_width(entry);
    }
    text.append("  ").append(entry);
  }
  return text + "\n";
}

TimelineStretch stretch_of(const std::string& name, bool is_phase,
                           const std::vector<Component>& components) {
  KindBytes bytes{};
  for (const Component& component : components) {
    bytes.at(static_cast<size_t>(component.kind)) += component.bytes;
  }
  return {.name = name, .is_phase = is_phase, .instants = {bytes}};
}

std::vector<Component> in_both(const RlhfPlan& plan, RlhfPhase from, RlhfPhase to) {
  const bool swap = plan.spec.setup.swap_phases;
  std::vector<Component> stay = plan.worst.in_phase(from, swap);
  std::erase_if(stay, [&](const Component& component) { return !component.on_gpu_in(to, swap); });
  return stay;
}

}  // namespace

std::string to_string(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::kWeights:
      return "weights";
    case ComponentKind::kGradients:
      return "gradients";
    case ComponentKind::kOptimizer:
      return "optimizer";
    case ComponentKind::kKvCache:
      return "KV cache";
    case ComponentKind::kActivations:
      return "activations";
    case ComponentKind::kExperience:
      return "experience";
    case ComponentKind::kContext:
      return "context, libraries";
  }
  return "?";
}

int64_t sum(const KindBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

int64_t TimelineStretch::total() const {
  int64_t most = 0;
  for (const KindBytes& instant : instants) most = std::max(most, sum(instant));
  return most;
}

int64_t Timeline::highest() const {
  int64_t most = available;
  for (const TimelineStretch& stretch : stretches) {
    most = std::max({most, stretch.total(), stretch.level.value_or(0)});
  }
  return most;
}

bool Timeline::has(size_t kind) const {
  return std::any_of(stretches.begin(), stretches.end(), [&](const TimelineStretch& stretch) {
    return std::any_of(stretch.instants.begin(), stretch.instants.end(),
                       [&](const KindBytes& instant) { return instant.at(kind) > 0; });
  });
}

Timeline timeline(const RlhfPlan& plan) {
  Timeline timeline{.title = "Memory timeline, one GPU", .available = plan.spec.card.total_bytes};
  const std::vector<RlhfPhase> phases = phases_of(plan.spec);
  for (size_t i = 0; i < phases.size(); ++i) {
    if (i > 0) {
      timeline.stretches.push_back(
          stretch_of("swap", false, in_both(plan, phases[i - 1], phases[i])));
    }
    timeline.stretches.push_back(stretch_of(
        to_string(phases[i]), true, plan.worst.in_phase(phases[i], plan.spec.setup.swap_phases)));
  }
  return timeline;
}

std::string drawing(const Timeline& timeline, const TextStyle& style) {
  const int64_t highest = timeline.highest();
  const auto step = highest / static_cast<int64_t>(kRows);
  const size_t limit = timeline.available > 0 ? row_of(timeline, timeline.available) : kRows;
  std::string text = timeline.title + "\n";
  const std::string edge = style.ascii ? "|" : "\u2502";
  for (size_t row = kRows; row-- > 0;) {
    std::string label;
    if (row == limit) {
      label = format_bytes(timeline.available);
    } else if ((row + 1) % 4 == 0) {
      label = format_bytes(static_cast<int64_t>(row + 1) * step);
    }
    const std::string end = row == limit ? (style.ascii ? "<" : "\u25c4") : edge;
    text.append(right_aligned(label, kLabelWidth))
        .append(edge)
        .append(row_text(timeline, row, row == limit, style))
        .append(end + "\n");
  }
  std::string base, names, totals;
  for (const TimelineStretch& stretch : timeline.stretches) {
    for (size_t i = 0; i < columns_of(stretch); ++i) base += style.ascii ? "-" : "\u2500";
    names += centred(stretch.name, columns_of(stretch));
    totals += centred(stretch.is_phase ? format_bytes(stretch.total()) : "", columns_of(stretch));
  }
  const std::string corner = style.ascii ? "+" : "\u2514";
  const std::string other = style.ascii ? "+" : "\u2518";
  text += right_aligned("0 B", kLabelWidth) + corner + base + other + "\n";
  text += std::string(kLabelWidth + 1, ' ') + names + "  ->\n";
  text += std::string(kLabelWidth + 1, ' ') + totals + "\n";
  return text + legend(timeline, style);
}

}  // namespace headroom
