#include "profiling/theory/activations/layers/feed_forward.h"

#include "profiling/theory/activations/layers/linear.h"

namespace headroom {

void add_feed_forward_rows(RowBuilder& sheet) {
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

// gate * w3(x) in SwiGLU, or x * sigmoid(x) before it: three tensors of d_ff either way.
void add_feed_forward_instant(RowBuilder& sheet) {
  for (const char* name : {"w1_x", "sigmoid", "silu"}) {
    sheet.add({.name = name,
               .shape = "B S F",
               .dtype = sheet.compute(),
               .source = "model/layers.cpp SwiGlu::forward"});
  }
}

// w3(x) in SwiGLU in FP8: for few tokens the codes of the weight are largest.
void add_fp8_feed_forward_instant(RowBuilder& sheet) {
  sheet.add({.name = "gate",
             .shape = "B S F",
             .dtype = sheet.compute(),
             .source = "model/layers.cpp SwiGlu::forward"});
  const auto add = [&](const char* name, const char* shape, DType dtype) {
    sheet.add({.name = name,
               .shape = shape,
               .dtype = dtype,
               .source = "train/techniques/fp8_linear.cpp fp8_linear"});
  };
  add("x_codes", "B S D", DType::kFp8);
  add("x_scale", "", DType::kFp32);
  add("weight_codes", "F D", DType::kFp8);
  add("weight_scale", "", DType::kFp32);
  add("w3_x", "B S F", sheet.compute());
}

}  // namespace headroom
