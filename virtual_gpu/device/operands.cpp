#include "virtual_gpu/device/contents.h"

namespace virtual_gpu {
namespace {

thread_local std::vector<std::vector<Operands::Span>> operations;

}  // namespace

void Operands::push(std::vector<Span> spans) { operations.push_back(std::move(spans)); }

void Operands::pop() { operations.pop_back(); }

bool Operands::are_known() { return !operations.empty(); }

std::optional<Operands::Span> Operands::written_at(uint64_t address) {
  for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
    bool is_read = false;
    for (const Span& span : *operation) {
      if (address < span.begin || address >= span.end) continue;
      if (span.is_written) return span;
      is_read = true;
    }
    if (is_read) return std::nullopt;
  }
  return std::nullopt;
}

std::vector<Operands::Span> Operands::written() {
  std::vector<Span> all;
  for (const auto& operation : operations) {
    for (const Span& span : operation) {
      if (span.is_written) all.push_back(span);
    }
  }
  return all;
}

}  // namespace virtual_gpu
