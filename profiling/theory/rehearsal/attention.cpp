#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor softmax(const ShapeTensor& scores_BHST) {
  const ShapeTensor shifted_BHST = sub(scores_BHST, max_last(scores_BHST).first);
  const ShapeTensor exp_BHST = exp(shifted_BHST);
  return div(exp_BHST, sum_last(exp_BHST));
}

}  // namespace

ShapeTensor rotate(const RotaryTables& tables, const ShapeTensor& x_BHSK) {
  Dims sizes = x_BHSK.sizes;
  sizes[3] /= 2;
  sizes.push_back(2);
  const ShapeTensor pairs = view(x_BHSK, sizes);
  const ShapeTensor even_BHSR = select_last(pairs);
  const ShapeTensor odd_BHSR = select_last(pairs);
  // GCC makes the right operand of an operator first.
  const auto together = [](const ShapeTensor& left, const ShapeTensor& left_by,
                           const ShapeTensor& right, const ShapeTensor& right_by, auto operation) {
    const ShapeTensor second = mul(right, right_by);
    const ShapeTensor first = mul(left, left_by);
    return operation(first, second);
  };
  const ShapeTensor first_BHSR = together(tables.cos_SR, even_BHSR, tables.sin_SR, odd_BHSR, sub);
  const ShapeTensor second_BHSR = together(tables.sin_SR, even_BHSR, tables.cos_SR, odd_BHSR, add);
  return cat_last(first_BHSR, second_BHSR);
}

ShapeTensor repeat_heads(const ShapeTensor& x_BGTK, int64_t heads) {
  const int64_t groups = x_BGTK.size(1);
  if (groups == heads) return x_BGTK;
  const ShapeTensor each_BG1TK = unsqueeze(x_BGTK, 2);
  Dims sizes = each_BG1TK.sizes;
  sizes[2] = heads / groups;
  const ShapeTensor copies = clone(expand(each_BG1TK, sizes));
  return view(copies, {sizes[0], heads, sizes[3], sizes[4]});
}

ShapeTensor eager_attention(const ShapeTensor& q_BHSK, const ShapeTensor& k_BHTK,
                            const ShapeTensor& v_BHTK) {
  Run& run = *q_BHSK.run;
  run.memory.site.operation = "arange";
  const ShapeTensor positions_T = integers(run, k_BHTK.size(2));
  const int64_t queries = q_BHSK.size(2);
  const ShapeTensor mask_11ST =
      greater_equal(view(narrow(positions_T, 0, queries), {1, 1, queries, 1}),
                    view(positions_T, {1, 1, 1, k_BHTK.size(2)}));
  ShapeTensor scores_BHST = div_scalar(einsum("bhsk,bhtk->bhst", q_BHSK, k_BHTK));
  scores_BHST = where(mask_11ST, scores_BHST);
  const ShapeTensor weights_BHST = softmax(scores_BHST);
  return einsum("bhst,bhtk->bhsk", weights_BHST, v_BHTK);
}

}  // namespace headroom
