#include "profiling/theory/activations/residual_stream.h"

#include "text/quantity.h"
#include "train/settings/gradient_rules.h"

namespace headroom {

ResidualStream residual_stream(const RunSpec& spec) {
  ResidualStream stream;
  stream.sizes = {sequences_of_a_pass(spec), spec.context_length, model_config(spec).d_model};
  stream.elements = stream.sizes[0] * stream.sizes[1] * stream.sizes[2];
  stream.each = spec.weights == WeightType::kBf16 ? 2 : 4;
  stream.bytes = stream.elements * stream.each;
  return stream;
}

std::string derivation(const ResidualStream& stream) {
  const auto text = [&](size_t i) { return std::to_string(stream.sizes[i]); };
  return "The residual stream is one (batch, context, d_model) tensor of " + text(0) + " x " +
         text(1) + " x " + text(2) + " = " + std::to_string(stream.elements) + " numbers; " +
         (stream.each == 4 ? "in single precision, at 4" : "in BF16, as the weights, at 2") +
         " bytes each, that is " + std::to_string(stream.bytes) +
         " bytes = " + number_text(stream.megabytes(), 2) +
         " MB (10^6 bytes) = " + number_text(stream.mebibytes(), 2) + " MiB (1024^2 bytes)." +
         (stream.each == 4 ? " Autocast does not shrink it: the embedding is FP32, and FP32 plus "
                             "a lower precision is FP32."
                           : "");
}

}  // namespace headroom
