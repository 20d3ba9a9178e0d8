// Useful arithmetic of a step, and a card's peak rate. No torch here.
#pragma once

#include <optional>
#include <string_view>

#include "model/config.h"
#include "train/settings/spec.h"

namespace headroom {

// Training and forward-backward: 6 N T + 6 L d ctx T; the forward modes: a third of it.
//   N = L(2 d^2 + 2 d d_kv + 3 d d_ff) + V d: multiplied weights (with the output head, without the
//   token table and norms); T = batch * ctx tokens.
//   The second term is causal attention: half of the ctx x ctx square, whatever the implementation
//   computes. (PaLM's 12 L d ctx T counts the whole square.) The optimizer, elementwise work and
//   recomputation are not counted.
struct StepFlops {
  double matmul = 0;
  double attention = 0;

  double total() const { return matmul + attention; }
};
StepFlops step_flops(const ModelConfig& config, int64_t batch_size, int64_t context_length,
                     Mode mode);

// Dense peak at the precision, in FLOP/s, by the driver's name of the card: see cards/cards.h.
// Empty for an unknown card, for a CPU, and if the card lacks units for the precision.
std::optional<double> peak_flops(std::string_view device_name, Precision precision);

// The formula in --help and in the JSON context.
inline constexpr const char* kFlopsFormula =
    "6*N*T + 6*L*d*ctx*T per step (causal attention); forward modes one third; "
    "N = L*(2*d^2 + 2*d*d_kv + 3*d*d_ff) + V*d, T = batch*ctx";
inline constexpr const char* kFlopsSource =
    "(PaLM, arXiv 2204.02311, appendix B, with the causal half of attention)";
inline constexpr const char* kMfuFormula =
    "FLOP/s over the dense peak of the device at the precision; no MFU where no peak is known";

}  // namespace headroom
