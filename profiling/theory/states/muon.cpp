#include "profiling/theory/states/muon.h"

namespace headroom {
namespace {

constexpr const char* kSource = "train/optim/muon.cpp orthogonalized";

// The shorter of a matrix's rows and columns, in the letters of its shape.
std::string shorter_side(const RowBuilder& sheet, const ParameterEntry& matrix) {
  const std::string_view shape = matrix.shape;
  const std::string_view rows = matrix.rows();
  const std::string_view columns = shape.substr(rows.size() + 1);
  return std::string(sheet.token_size(rows) <= sheet.token_size(columns) ? rows : columns);
}

// Note [Live tensors of Newton-Schulz]
// Rationale: the direction is FP32, the iteration BF16. Which is larger depends on the matrix.
// Approach: two instants. When the direction is rounded it is alive beside its BF16 copy. In a step
//   of the iteration the old and the new matrix are alive beside two products of the shorter side
//   with itself. The rows are of the fuller instant.
// Limits: on the CPU the last addition widens the BF16 update, to the first instant's size.
std::vector<RowInput> newton_schulz(const RowBuilder& sheet, const ParameterEntry& matrix,
                                    DType update_type) {
  const std::string name = matrix.name;
  const std::string side = shorter_side(sheet, matrix);
  const int64_t number = element_size(DType::kBf16);
  const int64_t all = elements(sheet, matrix);
  const int64_t squared = sheet.token_size(side) * sheet.token_size(side);
  const int64_t rounding =
      update_type == DType::kBf16 ? number : element_size(update_type) + number;
  if (rounding * all > 2 * number * (all + squared)) {
    return {{.name = name + ".direction",
             .shape = matrix.shape,
             .dtype = update_type,
             .source = "train/optim/muon.cpp Muon::update_by_muon: lerp",
             .condition = "before Newton-Schulz; of the largest matrix of a block"},
            {.name = name + ".rounded",
             .shape = matrix.shape,
             .dtype = DType::kBf16,
             .source = kSource}};
  }
  return {{.name = name + ".orthogonalized",
           .shape = matrix.shape,
           .dtype = DType::kBf16,
           .source = std::string(kSource) + ": addmm",
           .condition = "before and after a step of Newton-Schulz",
           .storages = 2},
          {.name = name + ".gram",
           .shape = side + " " + side,
           .dtype = DType::kBf16,
           .source = std::string(kSource) + ": mm, addmm",
           .storages = 2}};
}

std::vector<RowInput> temporaries(const RowBuilder& sheet, const ParameterEntry& parameter,
                                  DType update_type) {
  if (parameter.is_hidden_matrix()) return newton_schulz(sheet, parameter, update_type);
  return {{.name = std::string(parameter.name) + ".denominator",
           .shape = parameter.shape,
           .dtype = update_type,
           .source = "train/optim/adamw.cpp adamw_in_place",
           .condition = "of the largest parameter that AdamW updates"}};
}

int64_t bytes_of(const RowBuilder& sheet, const std::vector<RowInput>& rows) {
  RowBuilder alone(sheet.spec());
  alone.begin(kOptimizerTemporaries);
  for (const RowInput& row : rows) alone.add(row);
  return total(alone.rows(), kOptimizerTemporaries);
}

}  // namespace

bool keeps_state(StateForm form, const ParameterEntry& parameter) {
  if (form == StateForm::kHidden) return parameter.is_hidden_matrix();
  return form != StateForm::kOuter || !parameter.is_hidden_matrix();
}

const ParameterEntry& add_muon_temporaries(
    RowBuilder& sheet, DType update_type,
    const std::function<int64_t(const ParameterEntry&)>& beside) {
  const ParameterEntry& fullest = largest_by(sheet, [&](const ParameterEntry& parameter) {
    return bytes_of(sheet, temporaries(sheet, parameter, update_type)) + beside(parameter);
  });
  sheet.begin(kOptimizerTemporaries);
  for (const RowInput& row : temporaries(sheet, fullest, update_type)) sheet.add(row);
  return fullest;
}

}  // namespace headroom
