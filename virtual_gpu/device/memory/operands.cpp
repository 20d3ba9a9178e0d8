#include "virtual_gpu/device/memory/contents.h"

namespace virtual_gpu {
namespace {

// Spans of all operations of this thread, the innermost last; operations allocate nothing.
thread_local std::vector<Operands::Span> spans;
thread_local std::vector<size_t> firsts;  // index of each operation's first span
// Memory allocated since the outermost operation began. An inner one may have made it known, like
// zeros(), and a kernel of an outer one then writes it.
thread_local std::vector<Operands::Span> taken;

}  // namespace

void Operands::begin() { firsts.push_back(spans.size()); }

void Operands::add(const Span& span) { spans.push_back(span); }

void Operands::take(uint64_t begin, uint64_t end) {
  if (are_known()) taken.push_back({.begin = begin, .end = end, .is_written = true});
}

void Operands::end() {
  spans.resize(firsts.back());
  firsts.pop_back();
  if (firsts.empty()) taken.clear();
}

bool Operands::are_known() { return !firsts.empty(); }

std::optional<Operands::Span> Operands::written_at(uint64_t address) {
  size_t end = spans.size();
  for (auto first = firsts.rbegin(); first != firsts.rend(); ++first) {
    bool is_read = false;
    for (size_t i = *first; i < end; ++i) {
      if (address < spans[i].begin || address >= spans[i].end) continue;
      if (spans[i].is_written) return spans[i];
      is_read = true;
    }
    if (is_read) return std::nullopt;
    end = *first;
  }
  for (const Span& span : taken) {
    if (address >= span.begin && address < span.end) return span;
  }
  return std::nullopt;
}

std::vector<Operands::Span> Operands::written() {
  std::vector<Span> all = taken;
  for (const Span& span : spans) {
    if (span.is_written) all.push_back(span);
  }
  return all;
}

}  // namespace virtual_gpu
