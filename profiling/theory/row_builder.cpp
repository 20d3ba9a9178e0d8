#include "profiling/theory/row_builder.h"

#include <cassert>
#include <sstream>
#include <stdexcept>

#include "profiling/theory/states/parameters.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

constexpr int64_t kForeachChunk = 65536;  // elements: kChunkSize of ATen's MultiTensorApply.cuh

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Letters of the tokens that name a size; a part of one ("D/64") and a long number do not.
std::string letters_of(std::string_view shape) {
  std::istringstream tokens{std::string(shape)};
  std::string letters;
  for (std::string token; tokens >> token;) {
    const bool is_number = token.size() > 1 && is_digit(token.front());
    if (is_number || token.find('/') != std::string::npos) continue;
    std::erase(token, '*');
    letters += token;
  }
  return letters;
}

}  // namespace

RowBuilder::RowBuilder(const RunSpec& spec)
    : spec_(spec),
      config_(model_config(spec)),
      weight_(spec.weights == WeightType::kBf16 ? DType::kBf16 : DType::kFp32) {}

void RowBuilder::begin(std::string_view group, Blocks blocks) {
  group_ = group;
  blocks_ = std::move(blocks);
}

DType RowBuilder::compute() const {
  switch (spec_.precision) {
    case Precision::kBf16:
    case Precision::kFp8:
      return DType::kBf16;
    case Precision::kFp16:
      return DType::kFp16;
    default:
      return weight_;
  }
}

AttentionKernel RowBuilder::attention_kernel() const {
  const AttentionCall call = attention_call(spec_, config_, compute());
  return is_forced(spec_.attention) ? forced_kernel(spec_.attention, call) : chosen_kernel(call);
}

std::string attention_refusal(const RunSpec& spec) {
  if (!is_forced(spec.attention)) return "";
  const RowBuilder sheet(spec);
  return refusal(sheet.attention_kernel(), attention_call(spec, sheet.config(), sheet.compute()));
}

void check_attention(const RunSpec& spec) {
  if (spec.device.kind == DeviceKind::kCuda) return;
  const std::string why = attention_refusal(spec);
  if (why.empty()) return;
  throw UsageError("--attention", to_string(spec.attention), why, "--attention sdpa");
}

int64_t foreach_chunks(int64_t elements) { return (elements + kForeachChunk - 1) / kForeachChunk; }

int64_t RowBuilder::size(char letter) const {
  switch (letter) {
    case '1':
      return 1;
    case '2':
      return 2;
    case 'B':
      return sequences_of_a_pass(spec_);
    case 'N':
      return passes(spec_);
    case 'M':
      return parameter_tensors(*this);
    case 'C':
      return foreach_chunks(elements(*this, largest_parameter(*this)));
    case 'S':
    case 'T':
      return spec_.context_length;
    case 'R':
      return config_.head_dim() / 2;
    case 'I':
      return prompt_tokens(spec_);
    case 'J':
      return sequence_tokens(spec_);
    case 'W':
      return kv_cache_shape(spec_).sequences;
    case 'E':
      return kv_cache_shape(spec_).all_blocks();
    case 'P':  // S, padded: the memory-efficient kernel writes whole tiles of 32 queries
      return (spec_.context_length + 31) / 32 * 32;
    default:
      break;
  }
  const int64_t size = size_of_letter(letter, config_);
  assert(size > 0 && "unknown shape letter");
  return size;
}

int64_t RowBuilder::token_size(std::string_view token) const {
  if (is_digit(token.front())) return std::stoll(std::string(token));
  int64_t product = 1;
  for (size_t i = 0; i < token.size() && token[i] != '/'; ++i) {
    if (token[i] != '*') product *= size(token[i]);
  }
  const size_t slash = token.find('/');
  if (slash == std::string_view::npos) return product;
  const int64_t divisor = std::stoll(std::string(token.substr(slash + 1)));
  return (product + divisor - 1) / divisor;
}

void RowBuilder::add(const RowInput& input) {
  Row row;
  row.group = group_;
  row.blocks = blocks_;
  row.dtype = input.dtype;
  row.space = input.space;
  row.storages = input.storages;
  row.condition = input.condition;
  row.source = input.source;
  row.saved_by = input.saved_by;
  row.measured = input.measured && cpu();
  row.gradient = input.gradient;
  row.tensor = input.name;
  if (const std::string letters = letters_of(input.shape); !letters.empty()) {
    row.tensor += "_" + letters;
  }
  std::vector<std::string> symbols;
  std::vector<std::string> numbers;
  std::istringstream tokens(input.shape);
  for (std::string token; tokens >> token;) {
    symbols.push_back(token);
    row.sizes.push_back(token_size(token));
    if (token != "1") numbers.push_back(std::to_string(row.sizes.back()));
  }
  row.symbols = join(symbols);
  std::erase(symbols, "1");
  const std::string each = std::to_string(element_size(row.dtype)) + " B";
  if (!symbols.empty()) {
    row.derivation = join(symbols, "*") + " * " + each + " = " + join(numbers, "*") + " * " + each;
  } else {
    row.derivation = each;
  }
  if (row.storages > 1) row.derivation += ", " + std::to_string(row.storages) + " times";
  if (row.storages == 0) row.derivation = "0 (counted in another row)";
  row.bytes = row.all_bytes();
  rows_.push_back(std::move(row));
}

void RowBuilder::alias(RowInput input) {
  input.storages = 0;
  add(input);
}

}  // namespace headroom
