// Tensors saved for backward outside attention. Read beside model/layers.cpp and model/loss.cpp.
#include "profiling/theory/row_builder.h"

namespace headroom {
namespace {

// Note [Casts under autocast]
// Rationale: a matrix product casts FP32 inputs, and its node keeps the casts. Autocast caches
//   those of weights only: the FP32 output of a norm is cast once for each projection that reads
//   it. On CUDA einsum is on autocast's list. On the CPU it is not: its products see views of the
//   weights, and nothing is cached. Without a graph a cast dies with its product.
// Approach: a norm's output is one storage in FP32, however many projections read it; in autocast
//   it is one storage per projection. The cast weights have groups of their own (states.cpp).
// Limits: low-precision inputs (the merged heads, the gated product) are not cast. einsum over a
//   dimension of one element (d_ff 1) is no matrix product.
void add_norm_output(RowBuilder& sheet, const std::string& name,
                     const std::vector<std::string>& readers, const std::string& source) {
  if (sheet.fp8() && readers.front() != "lm_head") {
    return add_fp8_input(sheet, name, "D", readers);
  }
  std::vector<std::string> saved_by;
  saved_by.reserve(readers.size());
  for (const auto& reader : readers) saved_by.push_back("BmmBackward0.self of " + reader);
  if (sheet.autocast()) {
    sheet.add({.name = name + "_cast",
               .shape = "B S D",
               .dtype = sheet.compute(),
               .source = "model/layers.cpp Linear::forward: einsum ...i,oi->...o, its input cast",
               .saved_by = saved_by,
               .condition = "the FP32 norm output is cast once per projection",
               .storages = static_cast<int64_t>(readers.size())});
  } else {
    sheet.add({.name = name,
               .shape = "B S D",
               .dtype = sheet.weight(),
               .source = source,
               .saved_by = saved_by,
               .condition = "one storage read by every projection behind the norm"});
  }
}

// RMSNorm: x^2, mean, rsqrt, x * that, weight * that; FP32 in every precision.
void add_norm(RowBuilder& sheet, const std::string& name) {
  sheet.add({.name = name + ".inverse_rms",
             .shape = "B S 1",
             .source = "model/layers.cpp RmsNorm::forward: rsqrt",
             .saved_by = {"RsqrtBackward0.result", "MulBackward0.other"},
             .condition = "a norm is FP32 in every precision"});
  sheet.add({.name = name + ".normalized",
             .shape = "B S D",
             .source = "model/layers.cpp RmsNorm::forward: x * inverse_rms",
             .saved_by = {"MulBackward0.other"},
             .condition = "for the gradient of the norm's weight"});
}

// Note [The residual stream of BF16 weights]
// Rationale: a norm computes in FP32. It saves an FP32 residual stream (FP32 weights, autocast too)
//   as it is. With BF16 weights the stream is BF16: the norm saves an FP32 copy, and nothing
//   saves the stream.
// Approach: with BF16 weights each norm has a row for its copy, and the stream has no rows
//   (embedded, attended, output): these tensors die within the forward.
// Limits: a technique that keeps blocks' inputs keeps BF16 ones, and adds rows for them itself
//   (profiling/theory/activations/checkpoint.cpp).
bool keeps_stream(const RowBuilder& sheet) { return sheet.weight() == DType::kFp32; }

// The input of a norm; an FP32 stream is counted elsewhere.
void add_input_of_norm(RowBuilder& sheet, const std::string& norm, const std::string& stream,
                       const std::string& counted_in) {
  const std::vector<std::string> saved_by = {"PowBackward0.self", "MulBackward0.self"};
  if (keeps_stream(sheet)) {
    return sheet.alias({.name = stream,
                        .shape = "B S D",
                        .source = "model/layers.cpp RmsNorm::forward: pow and x * inverse_rms",
                        .saved_by = saved_by,
                        .condition = counted_in});
  }
  sheet.add({.name = norm + ".input",
             .shape = "B S D",
             .source = "model/layers.cpp RmsNorm::forward: x_BSD.to(kFloat32)",
             .saved_by = saved_by,
             .condition = "an FP32 copy of the BF16 residual stream"});
}

void add_weight(RowBuilder& sheet, const std::string& name, const std::string& shape) {
  if (sheet.fp8() && name != "lm_head") {
    return sheet.alias({.name = name + ".weight",
                        .shape = shape,
                        .source = "train/techniques/fp8_linear.cpp Fp8Product::forward",
                        .saved_by = {"Fp8Product.weight"},
                        .condition = "a parameter, cast again in backward"});
  }
  sheet.alias({.name = name + ".weight",
               .shape = shape,
               .dtype = sheet.compute(),
               .source = "model/layers.cpp Linear::forward: einsum ...i,oi->...o",
               .saved_by = {"BmmBackward0.mat2"},
               .condition = sheet.casts_weights() ? "counted in the cast cache" : "a parameter"});
}

void add_feed_forward(RowBuilder& sheet) {
  add_norm_output(sheet, "ln2.output", {"w1", "w3"},
                  "model/layers.cpp RmsNorm::forward: weight * x");
  const DType compute = sheet.compute();
  const std::string source = "model/layers.cpp SwiGlu::forward: ";
  sheet.add({.name = "w1_x",
             .shape = "B S F",
             .dtype = compute,
             .source = source + "w1_(x)",
             .saved_by = {"MulBackward0.self"},
             .condition = "x of silu = x * sigmoid(x)"});
  sheet.add({.name = "sigmoid",
             .shape = "B S F",
             .dtype = compute,
             .source = source + "sigmoid",
             .saved_by = {"SigmoidBackward0.result", "MulBackward0.other"},
             .condition = "silu is written out"});
  sheet.add({.name = "silu",
             .shape = "B S F",
             .dtype = compute,
             .source = source + "x * sigmoid(x)",
             .saved_by = {"MulBackward0.self"}});
  sheet.add({.name = "w3_x",
             .shape = "B S F",
             .dtype = compute,
             .source = source + "w3_(x)",
             .saved_by = {"MulBackward0.other"}});
  if (sheet.fp8()) {
    add_fp8_input(sheet, "gate", "F", {"w2"});
  } else {
    sheet.add({.name = "gate",
               .shape = "B S F",
               .dtype = compute,
               .source = source + "gate * w3_(x)",
               .saved_by = {"BmmBackward0.self of w2"},
               .condition = "input of w2"});
  }
  add_weight(sheet, "w1", "F D");
  add_weight(sheet, "w3", "F D");
  add_weight(sheet, "w2", "D F");
}

void add_block(RowBuilder& sheet) {
  sheet.begin(kBlock, Blocks::all(sheet.config().layers));
  add_input_of_norm(sheet, "ln1", "x", "the output of the block before (or of the embedding)");
  add_norm(sheet, "ln1");
  add_norm_output(sheet, "ln1.output", {"q_proj", "k_proj", "v_proj"},
                  "model/layers.cpp RmsNorm::forward: weight * x");
  add_attention_rows(sheet);
  add_weight(sheet, "q_proj", "D D");
  add_weight(sheet, "k_proj", "G*K D");
  add_weight(sheet, "v_proj", "G*K D");
  add_weight(sheet, "output_proj", "D D");
  if (keeps_stream(sheet)) {
    sheet.add({.name = "attended",
               .shape = "B S D",
               .source = "model/transformer.cpp TransformerBlockImpl::forward: x + attention",
               .saved_by = {"PowBackward0.self", "MulBackward0.self"},
               .condition = "residual stream; input of ln2"});
  } else {
    add_input_of_norm(sheet, "ln2", "attended", "");
  }
  add_norm(sheet, "ln2");
  add_feed_forward(sheet);
  if (!keeps_stream(sheet)) return;
  sheet.add(
      {.name = "output",
       .shape = "B S D",
       .source = "model/transformer.cpp TransformerBlockImpl::forward: attended + feed_forward",
       .condition = "residual stream; saved by the next block's ln1, or by ln_final"});
}

void add_head(RowBuilder& sheet) {
  sheet.begin(kFinalNorm);
  add_input_of_norm(sheet, "ln_final", "x", "the output of the last block");
  add_norm(sheet, "ln_final");
  add_norm_output(sheet, "ln_final.output", {"lm_head"},
                  "model/layers.cpp RmsNorm::forward: weight * x");
  sheet.begin(kHead);
  add_weight(sheet, "lm_head", "V D");
  sheet.add({.name = "logits",
             .shape = "B S V",
             .dtype = sheet.compute(),
             .source = "train/step.cpp Step::run",
             .condition = "saved by no node; a local variable holds them"});
}

void add_loss(RowBuilder& sheet) {
  sheet.begin(kLoss);
  const std::string source = "model/loss.cpp log_softmax: ";
  const DType dtype = sheet.exponential();
  const std::string why = sheet.autocast() && !sheet.cpu() ? "exp, sum and log run in FP32" : "";
  sheet.add({.name = "max_indices",
             .shape = "B S 1",
             .dtype = DType::kInt64,
             .source = source + "max",
             .saved_by = {"MaxBackward0.indices"}});
  sheet.add({.name = "exp",
             .shape = "B S V",
             .dtype = dtype,
             .source = source + "exp",
             .saved_by = {"ExpBackward0.result"},
             .condition = why});
  sheet.add({.name = "sum",
             .shape = "B S 1",
             .dtype = dtype,
             .source = source + "sum",
             .saved_by = {"LogBackward0.self"},
             .condition = why});
  sheet.add({.name = "negative_log_probabilities",
             .shape = "B S V",
             .dtype = dtype,
             .source = "model/loss.cpp cross_entropy: -log_softmax",
             .saved_by = {"GatherBackward0.self"},
             .condition = why});
  sheet.alias({.name = "targets",
               .shape = "B S 1",
               .dtype = DType::kInt64,
               .source = "model/loss.cpp cross_entropy: gather",
               .saved_by = {"GatherBackward0.index"},
               .condition = "an input"});
  sheet.add({.name = "loss",
             .shape = "",
             .dtype = dtype,
             .source = "model/loss.cpp cross_entropy: mean",
             .condition = "held by train/step.cpp"});
}

}  // namespace

void add_activation_rows(RowBuilder& sheet) {
  if (!builds_graph(sheet.spec().profile_type)) return;  // NoGradGuard: nothing is kept
  add_block(sheet);
  sheet.begin(kEmbedding);
  sheet.alias({.name = "tokens",
               .shape = "B S",
               .dtype = DType::kInt64,
               .source = "model/layers.cpp Embedding::forward: index",
               .saved_by = {"IndexBackward0.indices"},
               .condition = "an input"});
  if (keeps_stream(sheet)) {
    sheet.add({.name = "embedded",
               .shape = "B S D",
               .source = "model/layers.cpp Embedding::forward: index",
               .condition = "residual stream, FP32 (indexing is on no autocast list); saved by the "
                            "first block's ln1"});
  }
  add_head(sheet);
  if (has_backward(sheet.spec().profile_type)) add_loss(sheet);
}

}  // namespace headroom
