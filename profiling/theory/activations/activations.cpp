// Tensors saved for backward outside attention and the feed-forward. Read beside model/layers.cpp
// and model/loss.cpp.
#include "profiling/theory/activations/layers/feed_forward.h"
#include "profiling/theory/activations/layers/linear.h"
#include "profiling/theory/row_builder.h"

namespace headroom {
namespace {

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

void add_block(RowBuilder& sheet) {
  sheet.begin(kBlock, Blocks::all(sheet.config().layers));
  add_input_of_norm(sheet, "ln1", "x", "the output of the block before (or of the embedding)");
  add_norm(sheet, "ln1");
  add_norm_output(sheet, "ln1.output", {"q_proj", "k_proj", "v_proj"},
                  "model/layers.cpp RmsNorm::forward: weight * x");
  add_attention_rows(sheet);
  const bool own_head_size = sheet.config().has_own_head_size();
  add_weight(sheet, "q_proj", own_head_size ? "H*K D" : "D D");
  add_weight(sheet, "k_proj", "G*K D");
  add_weight(sheet, "v_proj", "G*K D");
  add_weight(sheet, "output_proj", own_head_size ? "D H*K" : "D D");
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
  add_feed_forward_rows(sheet);
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
  add_weight(sheet, sheet.config().ties_head() ? "token_embeddings" : "lm_head", "V D");
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
