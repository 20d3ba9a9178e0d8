// Tensors that attention saves for backward. Read beside model/attention.cpp.
#include "profiling/theory/activations/layers/attention_lines.h"
#include "profiling/theory/row_builder.h"

namespace headroom {
namespace {

// True if merging the heads makes a new tensor: (B, H, S, K) flattens to (B, S, H*K) without a copy
// only if one of the two swapped dimensions is 1.
bool merging_copies(const RowBuilder& sheet) { return sheet.size('H') > 1 && sheet.size('S') > 1; }

// The input of output_proj; storages 0: another row counts its memory.
void add_heads(RowBuilder& sheet, const std::string& condition, int64_t storages = 1) {
  if (sheet.fp8()) return add_fp8_input(sheet, "heads", "H*K", {"output_proj"});
  sheet.add({.name = "heads",
             .shape = "B S H*K",
             .dtype = sheet.compute(),
             .source = "model/attention.cpp CausalSelfAttention::forward: transpose, flatten",
             .saved_by = {"BmmBackward0.self of output_proj"},
             .condition = condition,
             .storages = storages});
}

// RMSNorm of each head of the projection, (B, S, heads, K), in FP32.
void add_head_norm(RowBuilder& sheet, const std::string& name, const std::string& heads) {
  const std::string source = "model/layers.cpp RmsNorm::forward: ";
  const bool is_projection = sheet.compute() == DType::kFp32;
  sheet.add({.name = name + ".input",
             .shape = "B S " + heads + " K",
             .source = is_projection ? "model/attention.cpp CausalSelfAttention::forward"
                                     : source + "x_BSD.to(kFloat32)",
             .saved_by = {"PowBackward0.self", "MulBackward0.self"},
             .condition = is_projection ? "the projection" : "an FP32 copy of the projection"});
  sheet.add({.name = name + ".inverse_rms",
             .shape = "B S " + heads + " 1",
             .source = source + "rsqrt",
             .saved_by = {"RsqrtBackward0.result", "MulBackward0.other"},
             .condition = "a norm is FP32 in every precision"});
  sheet.add({.name = name + ".normalized",
             .shape = "B S " + heads + " K",
             .source = source + "x * inverse_rms",
             .saved_by = {"MulBackward0.other"},
             .condition = "for the gradient of the norm's weight"});
}

// cos * even, sin * odd, sin * even, cos * odd, for q and for k.
void add_rotary(RowBuilder& sheet) {
  const std::vector<std::string> four(4, "MulBackward0.self");
  for (const char* table : {"cos", "sin"}) {
    sheet.alias(
        {.name = table,
         .shape = "S R",
         .source = "model/layers.cpp RotaryTable::rotate",
         .saved_by = four,
         .condition = "a view of the rotary table; the projections themselves are not kept"});
  }
}

// The source of q, and of k without repeated heads: the rotation, unless the product casts them.
std::string rotated_by(const RowBuilder& sheet, std::string_view product) {
  if (sheet.autocast()) return std::string(product);
  return sheet.compute() == DType::kFp32
             ? "model/layers.cpp RotaryTable::rotate: cat"
             : "model/attention.cpp CausalSelfAttention::forward: rotate, to(x.scalar_type())";
}

void add_matrix_inputs(RowBuilder& sheet) {
  const DType compute = sheet.compute();
  const bool grouped = sheet.config().kv_heads != sheet.config().heads;
  const std::string cast =
      sheet.autocast() ? "; FP32 out of the FP32 rotary tables, kept as autocast's copy" : "";
  sheet.add({.name = "q",
             .shape = "B H S K",
             .dtype = compute,
             .source = rotated_by(sheet, kScoresProduct),
             .saved_by = {"BmmBackward0.self"},
             .condition = "rotated" + cast});
  sheet.add({.name = "k",
             .shape = "B H T K",
             .dtype = compute,
             .source = grouped ? std::string(kScoresProduct) : rotated_by(sheet, kScoresProduct),
             .saved_by = {"BmmBackward0.mat2"},
             .condition = (grouped ? "rotated, repeated to every query head" : "rotated") + cast});
  sheet.add({.name = "v",
             .shape = "B H T K",
             .dtype = compute,
             .source = "model/attention.cpp eager_attention: einsum bhst,bhtk->bhsk",
             .saved_by = {"BmmBackward0.mat2"},
             .condition = grouped
                              ? "repeated to every query head"
                              : "heads and batch made one dimension (a copy unless one of them, "
                                "or S, is 1)"});
}

void add_softmax(RowBuilder& sheet) {
  const std::string source = "model/attention.cpp softmax: ";
  const DType dtype = sheet.exponential();
  const std::string fp32 =
      sheet.autocast() && !sheet.cpu() ? "FP32: exp and sum are on CUDA's list" : "";
  sheet.add({.name = "mask",
             .shape = "1 1 S T",
             .dtype = DType::kBool,
             .source = "model/attention.cpp eager_attention: where",
             .saved_by = {"WhereBackward0.condition"},
             .condition = "built anew by every layer"});
  sheet.add({.name = "max_indices",
             .shape = "B H S 1",
             .dtype = DType::kInt64,
             .source = source + "max",
             .saved_by = {"MaxBackward0.indices"}});
  sheet.add({.name = "exp",
             .shape = "B H S T",
             .dtype = dtype,
             .source = source + "exp",
             .saved_by = {"ExpBackward0.result", "DivBackward0.self"},
             .condition = fp32});
  sheet.add({.name = "sum",
             .shape = "B H S 1",
             .dtype = dtype,
             .source = source + "sum",
             .saved_by = {"DivBackward0.other"},
             .condition = fp32});
  sheet.add({.name = "weights",
             .shape = "B H S T",
             .dtype = sheet.compute(),
             .source = "model/attention.cpp eager_attention: einsum bhst,bhtk->bhsk",
             .saved_by = {"BmmBackward0.self"},
             .condition = sheet.autocast() && !sheet.cpu() ? "autocast's copy of the FP32 quotient"
                                                           : "the quotient itself"});
}

void add_eager(RowBuilder& sheet) {
  add_matrix_inputs(sheet);
  add_softmax(sheet);
  add_heads(sheet, "merged");
}

// The fused kernels' inputs: k and v keep their own number of heads.
void add_fused_inputs(RowBuilder& sheet, const std::string& node) {
  const DType compute = sheet.compute();
  const std::string source(kFusedAttention);
  sheet.add({.name = "q",
             .shape = "B H S K",
             .dtype = compute,
             .source = rotated_by(sheet, source),
             .saved_by = {node + ".query"},
             .condition = "rotated"});
  sheet.add({.name = "k",
             .shape = "B G T K",
             .dtype = compute,
             .source = rotated_by(sheet, source),
             .saved_by = {node + ".key"},
             .condition = "rotated"});
  sheet.add({.name = "v",
             .shape = "B G T K",
             .dtype = compute,
             .source = source,
             .saved_by = {node + ".value"},
             .condition = "the projection's own memory"});
}

void add_fused_outputs(RowBuilder& sheet, const std::string& node) {
  const AttentionKernel kernel = sheet.attention_kernel();
  const bool padded = kernel == AttentionKernel::kMemoryEfficient;
  const std::string source(kFusedAttention);
  sheet.add({.name = "attention",
             .shape = "B H S K",
             .dtype = sheet.compute(),
             .source = source,
             .saved_by = {node + ".output"}});
  sheet.add({.name = "logsumexp",
             .shape = padded ? "B H P" : "B H S",
             .source = source,
             .saved_by = {node + ".logsumexp"},
             .condition = padded ? "FP32 in every precision; P = S padded to a multiple of 32"
                                 : "FP32 in every precision",
             .gradient = false});
  const bool copied = !padded && merging_copies(sheet);
  add_heads(sheet,
            copied ? "a second copy of attention_BHSK, merged" : "merged; a view of attention_BHSK",
            copied ? 1 : 0);
}

// The flash kernel keeps both words in one tensor, beside an unused one; cuDNN's has one for each.
void add_random_state(RowBuilder& sheet, const std::string& node) {
  const bool flash = sheet.attention_kernel() == AttentionKernel::kFlash;
  for (const char* name :
       {flash ? "random_state" : "random_seed", flash ? "random_unused" : "random_offset"}) {
    const bool both = flash && std::string(name) == "random_state";
    sheet.add({.name = name,
               .shape = both ? "2" : "",
               .dtype = DType::kInt64,
               .source = std::string(kFusedAttention),
               .saved_by = {node + ".philox"},
               .condition = "unused without dropout"});
  }
}

// libtorch's math kernel: products and softmax one after another in FP32, k and v repeated to every
// query head, no log-sum-exp.
void add_math(RowBuilder& sheet) {
  const std::string source(kFusedAttention);
  const bool grouped = sheet.config().kv_heads != sheet.config().heads;
  const std::string repeated = grouped ? ", repeated to every query head" : "";
  const std::string fp32 = sheet.compute() == DType::kFp32 ? "" : "; FP32 in every precision";
  struct Kept {
    const char* name;
    const char* shape;
    std::vector<std::string> nodes;
    std::string why;
  };
  for (const Kept& kept :
       {Kept{"q", "B H S K", {"BmmBackward0.self"}, "rotated, scaled"},
        Kept{"k", "B H T K", {"BmmBackward0.mat2"}, "rotated" + repeated + ", scaled"},
        Kept{"v",
             "B H T K",
             {"BmmBackward0.mat2"},
             grouped ? "repeated to every query head" : "the values"},
        Kept{"weights",
             "B H S T",
             {"SafeSoftmaxBackward0.result", "BmmBackward0.self"},
             "of the math kernel"}}) {
    sheet.add({.name = kept.name,
               .shape = kept.shape,
               .source = source,
               .saved_by = kept.nodes,
               .condition = kept.why + fp32});
  }
  add_heads(sheet, "merged");
}

// Note [Fused attention]
// Rationale: each kernel saves its own tensors; Note [Choice of the attention kernel]
// (attention_kernel.cpp) is about
//   the choice.
// Approach: the memory-efficient kernel lays its output out (B, S, H, K), so merging is a view; its
//   log-sum-exp is padded to a multiple of 32 queries. cuDNN's and flash lay their outputs out like
//   the query, so merging copies; both keep random state on the card. The math kernel keeps its
//   weights. Checked on virtual cards by tests/virtual_gpu/steps/theory_test.py.
// Limits: a card only known as "cuda" counts as one of 9.0: 8 bytes a block less than the flash
//   kernel's. Head dimensions that are no multiple of 8 are padded, which no row shows.
void add_sdpa(RowBuilder& sheet) {
  switch (sheet.attention_kernel()) {
    case AttentionKernel::kMath:
      return add_math(sheet);
    case AttentionKernel::kCpuFlash: {
      const std::string node = "ScaledDotProductFlashAttentionForCpuBackward0";
      add_fused_inputs(sheet, node);
      return add_fused_outputs(sheet, node);
    }
    case AttentionKernel::kMemoryEfficient: {
      const std::string node = "ScaledDotProductEfficientAttentionBackward0";
      add_fused_inputs(sheet, node);
      return add_fused_outputs(sheet, node);
    }
    case AttentionKernel::kFlash:
    case AttentionKernel::kCudnn:
      break;
  }
  const bool flash = sheet.attention_kernel() == AttentionKernel::kFlash;
  const std::string node =
      flash ? "ScaledDotProductFlashAttentionBackward0" : "ScaledDotProductCudnnAttentionBackward0";
  add_fused_inputs(sheet, node);
  add_fused_outputs(sheet, node);
  add_random_state(sheet, node);
}

}  // namespace

void add_attention_rows(RowBuilder& sheet) {
  if (sheet.config().qk_norm) {
    add_head_norm(sheet, "q_norm", "H");
    add_head_norm(sheet, "k_norm", "G");
  }
  add_rotary(sheet);
  if (sheet.spec().attention == Attention::kEager) {
    add_eager(sheet);
  } else {
    add_sdpa(sheet);
  }
}

}  // namespace headroom
