#include "profiling/theory/activations/forward.h"

#include <algorithm>

#include "profiling/theory/activations/layers/feed_forward.h"
#include "profiling/theory/row_builder.h"

namespace headroom {
namespace {

// The block's own input and the output of the norm in front: FP32 under autocast, too.
void add_stream(RowBuilder& sheet, const std::string& norm) {
  sheet.add({.name = "x",
             .shape = "B S D",
             .dtype = sheet.weight(),
             .source = "model/transformer.cpp TransformerImpl::forward"});
  sheet.add({.name = norm + ".output",
             .shape = "B S D",
             .dtype = sheet.weight(),
             .source = "model/layers.cpp RmsNorm::forward",
             .condition = "an argument, alive until the layer returns"});
}

void add_heads(RowBuilder& sheet) {
  const std::string source = "model/attention.cpp CausalSelfAttention::forward";
  const bool grouped = sheet.config().kv_heads != sheet.config().heads;
  // The rotary tables are FP32, and so are the rotated heads, except with BF16 weights.
  for (const char* shape : {"B H S K", "B G T K"}) {
    sheet.add({.name = shape[2] == 'H' ? "q" : "k",
               .shape = shape,
               .dtype = sheet.weight(),
               .source = source,
               .condition = "rotated"});
  }
  sheet.add({.name = "v", .shape = "B G T K", .dtype = sheet.compute(), .source = source});
  if (!grouped) return;
  sheet.add({.name = "k_repeated",
             .shape = "B H T K",
             .dtype = sheet.weight(),
             .source = source + ": repeat_heads"});
  sheet.add({.name = "v_repeated",
             .shape = "B H T K",
             .dtype = sheet.compute(),
             .source = source + ": repeat_heads"});
}

// exp / sum in softmax(): the scores and every local of softmax() live.
void add_softmax_instant(RowBuilder& sheet) {
  sheet.begin(kForwardAttention);
  add_stream(sheet, "ln1");
  add_heads(sheet);
  const std::string source = "model/attention.cpp softmax: ";
  sheet.add({.name = "positions",
             .shape = "S",
             .dtype = DType::kInt64,
             .source = "model/attention.cpp eager_attention: arange"});
  sheet.add({.name = "mask",
             .shape = "1 1 S T",
             .dtype = DType::kBool,
             .source = "model/attention.cpp causal_mask"});
  for (const char* name : {"scores", "shifted"}) {
    sheet.add(
        {.name = name, .shape = "B H S T", .dtype = sheet.compute(), .source = source + name});
  }
  for (const char* name : {"exp", "quotient"}) {
    sheet.add(
        {.name = name, .shape = "B H S T", .dtype = sheet.exponential(), .source = source + name});
  }
  sheet.add(
      {.name = "sum", .shape = "B H S 1", .dtype = sheet.exponential(), .source = source + "sum"});
}

// _safe_softmax in the math kernel: the quotient, its scores, and the mask of their -inf.
void add_math_instant(RowBuilder& sheet) {
  sheet.begin(kForwardAttention);
  add_stream(sheet, "ln1");
  add_heads(sheet);
  const std::string source = "scaled_dot_product_attention: _scaled_dot_product_attention_math";
  sheet.add({.name = "q_scaled", .shape = "B H S K", .source = source});
  sheet.add({.name = "causal_mask", .shape = "S T", .source = source, .condition = "added, FP32"});
  for (const char* name : {"scores", "weights"}) {
    sheet.add({.name = name, .shape = "B H S T", .source = source});
  }
  sheet.add({.name = "masked", .shape = "B H S T", .dtype = DType::kBool, .source = source});
  sheet.add({.name = "masked_rows", .shape = "B H S 1", .dtype = DType::kBool, .source = source});
  sheet.add({.name = "zero", .shape = "", .source = source});
}

// The block's locals while its feed-forward runs.
void begin_feed_forward(RowBuilder& sheet, const char* group) {
  sheet.begin(group);
  add_stream(sheet, "ln2");
  const std::string source = "model/transformer.cpp TransformerBlockImpl::forward";
  sheet.add({.name = "attention", .shape = "B S D", .dtype = sheet.compute(), .source = source});
  sheet.add({.name = "attended", .shape = "B S D", .dtype = sheet.weight(), .source = source});
}

void add_head_instant(RowBuilder& sheet) {
  sheet.begin(kForwardHead);
  sheet.add({.name = "ln_final.output",
             .shape = "B S D",
             .dtype = sheet.weight(),
             .source = "model/transformer.cpp TransformerImpl::forward"});
  if (sheet.autocast()) {
    sheet.add({.name = "ln_final.output_cast",
               .shape = "B S D",
               .dtype = sheet.compute(),
               .source = "model/layers.cpp Linear::forward: einsum ...i,oi->...o, its input cast"});
  }
  sheet.add({.name = "logits",
             .shape = "B S V",
             .dtype = sheet.compute(),
             .source = "model/transformer.cpp TransformerImpl::forward"});
}

}  // namespace

std::vector<Row> forward_rows(const RunSpec& spec) {
  RowBuilder sheet(spec);
  if (spec.attention == Attention::kEager) add_softmax_instant(sheet);
  if (sheet.math_attention()) add_math_instant(sheet);
  begin_feed_forward(sheet, kForwardFeedForward);
  add_feed_forward_instant(sheet);
  if (sheet.fp8()) {
    begin_feed_forward(sheet, kForwardFp8);
    add_fp8_feed_forward_instant(sheet);
  }
  add_head_instant(sheet);
  return sheet.take();
}

int64_t forward_temporaries(const RunSpec& spec) {
  const std::vector<Row> rows = forward_rows(spec);
  return std::max({total(rows, kForwardAttention), total(rows, kForwardFeedForward),
                   total(rows, kForwardFp8), total(rows, kForwardHead)});
}

}  // namespace headroom
