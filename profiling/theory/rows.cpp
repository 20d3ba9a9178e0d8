#include "profiling/theory/rows.h"

#include "profiling/theory/sheet.h"

namespace headroom {

int64_t element_size(DType dtype) {
  switch (dtype) {
    case DType::kInt64:
      return 8;
    case DType::kFp32:
    case DType::kInt32:
      return 4;
    case DType::kBf16:
    case DType::kFp16:
      return 2;
    case DType::kBool:
      return 1;
  }
  return 0;
}

std::string to_string(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return "fp32";
    case DType::kBf16:
      return "bf16";
    case DType::kFp16:
      return "fp16";
    case DType::kInt64:
      return "int64";
    case DType::kInt32:
      return "int32";
    case DType::kBool:
      return "bool";
  }
  return "?";
}

int64_t Row::bytes_each() const {
  int64_t product = element_size(dtype);
  for (const int64_t size : sizes) product *= size;
  return product;
}

std::vector<Row> theory_rows(const RunSpec& spec) {
  Sheet sheet(spec);
  add_activation_rows(sheet);
  add_state_rows(sheet);
  return sheet.take();
}

int64_t total(const std::vector<Row>& rows, std::string_view group) {
  int64_t bytes = 0;
  for (const Row& row : rows) {
    if (row.group == group) bytes += row.bytes;
  }
  return bytes;
}

int64_t activation_bytes(const RunSpec& spec, const std::vector<Row>& rows) {
  return model_config(spec).layers * total(rows, kBlock) + total(rows, kEmbedding) +
         total(rows, kFinalNorm) + total(rows, kHead) + total(rows, kLoss);
}

int64_t storages(const std::vector<Row>& rows, std::string_view group) {
  int64_t count = 0;
  for (const Row& row : rows) {
    if (row.group == group) count += row.storages;
  }
  return count;
}

int64_t residual_bytes_per_block(const RunSpec& spec) { return total(theory_rows(spec), kBlock); }

int64_t residual_tensors_per_block(const RunSpec& spec) {
  return storages(theory_rows(spec), kBlock);
}

HookTally hook_tally(const std::vector<Row>& rows, std::string_view group) {
  HookTally tally;
  for (const Row& row : rows) {
    if (row.group != group) continue;
    const auto saves = static_cast<int64_t>(row.saved_by.size());
    tally.tensors += saves;
    tally.bytes += saves * row.bytes_each();
  }
  return tally;
}

std::map<std::string, int64_t> predicted(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  return {{"parameters", total(rows, kParameters)},
          {"gradients", total(rows, kGradients)},
          {"optimizer_state", total(rows, kOptimizerState)},
          {"activations", activation_bytes(spec, rows)},
          {"cast_cache", total(rows, kCastCache) + total(rows, kPassingCast)},
          {"residual_bytes_per_block", total(rows, kBlock)},
          {"residual_tensors_per_block", storages(rows, kBlock)}};
}

}  // namespace headroom
