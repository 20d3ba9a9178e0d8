#include "profiling/snapshot/analysis/code_line.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "profiling/snapshot/analysis/readable_stack.h"
#include "text/words.h"

namespace headroom {
namespace {

bool is_of_operators(const std::string& line) { return line.starts_with("libtorch: "); }

}  // namespace

std::string code_line(const Snapshot& snapshot, int32_t stack) {
  const std::vector<std::string> lines = readable_stack(snapshot, stack);
  if (lines.empty()) return "";
  const auto backward = std::find(lines.begin(), lines.end(), Frame::kBackwardOf);
  const auto own = std::find_if_not(lines.begin(), backward, is_of_operators);
  // Autograd's stack begins in a thread of its own: the forward call is the program's line.
  if (backward != lines.end() && backward + 1 != lines.end()) {
    return std::string(Frame::kBackwardOf) + " " + *(backward + 1);
  }
  return own == backward ? lines.front() : *own;
}

std::string whole_stack(const Snapshot& snapshot, int32_t stack) {
  if (stack < 0) return "";
  std::vector<std::string> frames;
  for (const int32_t index : snapshot.stacks[static_cast<size_t>(stack)]) {
    const Frame& frame = snapshot.frames[static_cast<size_t>(index)];
    if (frame.is_before_recording()) continue;
    frames.push_back(frame.name + " (" + frame.filename + ":" + std::to_string(frame.line) + ")");
  }
  return join(frames, " < ");
}

std::string without_line_numbers(const std::string& line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is_number = line[i] == ':' && i + 1 < line.size() &&
                           std::isdigit(static_cast<unsigned char>(line[i + 1])) != 0;
    if (!is_number) {
      text += line[i];
      continue;
    }
    while (i + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[i + 1])) != 0) ++i;
  }
  return text;
}

}  // namespace headroom
