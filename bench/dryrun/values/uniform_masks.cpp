#include "bench/dryrun/values/uniform_masks.h"

#include "bench/dryrun/values/mask_notes.h"

namespace headroom {
namespace {

MaskNotes<bool>& uniform_masks() {
  static auto* all = new MaskNotes<bool>();
  return *all;
}

}  // namespace

std::optional<bool> uniform_value(const at::Tensor& mask) {
  if (!mask.defined() || mask.scalar_type() != at::kBool || !mask.is_cuda() || !is_plain(mask)) {
    return std::nullopt;
  }
  return uniform_masks().find(mask);
}

void assume_uniform(const Operation& operation, const std::vector<c10::IValue>& outputs,
                    bool value) {
  for (const at::Tensor& made : made_by(operation, outputs)) {
    if (!made.defined() || made.scalar_type() != at::kBool || !made.is_cuda()) continue;
    if (!is_plain(made) || is_known(made)) continue;
    if (is_small(made)) {
      write(made, at::full(made.sizes(), value, at::kBool));
    } else {
      uniform_masks().note(made, value);
    }
  }
}

}  // namespace headroom
