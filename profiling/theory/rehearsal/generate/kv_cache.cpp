#include "profiling/theory/rehearsal/generate/kv_cache.h"

#include <algorithm>

#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// encode() of model/kv_cache/kv_cache.cpp: what it returns.
struct Encoded {
  ShapeTensor codes, scales;
};

Encoded encode(const ShapeTensor& x_TGK, KvCacheType type) {
  const ShapeTensor numbers = to(x_TGK, DType::kFp32);
  ShapeTensor scales_TG;
  {
    const ShapeTensor magnitudes = neg(numbers);  // abs()
    const ShapeTensor largest_TG1 = amax_last(magnitudes);
    scales_TG = squeeze(div_scalar(largest_TG1), 2);
  }
  ShapeTensor divisors_TG1;
  {
    const ShapeTensor is_zero = comparison(scales_TG);
    divisors_TG1 = unsqueeze(where(is_zero, scales_TG), 2);
  }
  const ShapeTensor codes = div(numbers, divisors_TG1);
  if (type == KvCacheType::kInt8) {
    const ShapeTensor rounded = neg(codes);  // round()
    return {to(rounded, DType::kInt8), scales_TG};
  }
  return {to(codes, DType::kFp8), scales_TG};
}

// A row of memory for every sequence.
class ContiguousShapeCache final : public ShapeCache {
 public:
  ContiguousShapeCache(Run& run, const KvCacheShape& shape)
      : ShapeCache(run, shape, {shape.sequences, shape.kv_heads, shape.tokens}) {}

 protected:
  void place(const std::vector<RehearsedSpan>& spans) override {
    int64_t tokens = 0;
    for (const RehearsedSpan& span : spans) tokens += span.length;
    set(rows_T_, {tokens});
    set(positions_T_, {tokens});
  }

  ShapeTensor get(const ShapeTensor& stored, int64_t begin, int64_t end) const override {
    const auto row = [&](int64_t i) { return spans()[static_cast<size_t>(i)].row; };
    bool in_order = true;
    for (int64_t i = begin; i < end; ++i) in_order &= row(i) == row(begin) + i - begin;
    const ShapeTensor whole = narrow(stored, 2, longest());
    if (in_order) return narrow(whole, 0, end - begin);
    const ShapeTensor rows = integers(run_, end - begin);
    return index_select(whole, 0, rows);
  }

 private:
  ShapeTensor rows_T_, positions_T_;
};

class PagedShapeCache final : public ShapeCache {
 public:
  PagedShapeCache(Run& run, const KvCacheShape& shape)
      : ShapeCache(run, shape, {shape.all_blocks(), kKvCacheBlock, shape.kv_heads}) {}

 protected:
  void place(const std::vector<RehearsedSpan>& spans) override {
    int64_t tokens = 0;
    for (const RehearsedSpan& span : spans) tokens += span.length;
    widest_ = (longest() + kKvCacheBlock - 1) / kKvCacheBlock;
    set(slots_T_, {tokens});
    set(table_BN_, {static_cast<int64_t>(spans.size()), widest_});
  }

  ShapeTensor get(const ShapeTensor& stored, int64_t begin, int64_t end) const override {
    const ShapeTensor table = view(narrow(table_BN_, 0, end - begin), {(end - begin) * widest_});
    const ShapeTensor blocks = index_select(stored, 0, table);
    Dims sizes = blocks.sizes;
    sizes[0] = end - begin;
    sizes[1] = widest_ * kKvCacheBlock;
    return transpose(narrow(view(blocks, sizes), 1, longest()), 1, 2);
  }

 private:
  int64_t widest_ = 0;  // blocks of the longest sequence
  ShapeTensor slots_T_, table_BN_;
};

// One of many along the dimensions ahead.
ShapeTensor one_of(const ShapeTensor& all, const Dims& sizes) {
  ShapeTensor one = all;
  one.sizes = sizes;
  one.strides = contiguous_strides(sizes);
  one.is_view = true;
  return one;
}

}  // namespace

ShapeCache::ShapeCache(Run& run, const KvCacheShape& shape, Dims sizes) : run_(run), shape_(shape) {
  const char* const group = std::exchange(run.memory.group, kKvCacheRows);
  run.memory.site.operation = "zeros";
  const int64_t all = 2 * shape.layers * sizes.product();
  if (has_scales(shape.type)) scales_ = one_of(empty(run, {all}, DType::kFp32), sizes);
  sizes.push_back(shape.head_dim);
  codes_ = one_of(empty(run, {all * shape.head_dim}, dtype_of(shape.type)), sizes);
  run.memory.group = group;
}

void ShapeCache::begin(const std::vector<RehearsedSpan>& spans) {
  spans_ = spans;
  longest_ = 0;
  bool even = true;
  for (const RehearsedSpan& span : spans) {
    const int64_t end = span.first + span.length;
    even &= longest_ == 0 || end == longest_;
    longest_ = std::max(longest_, end);
  }
  place(spans);
  if (even) {
    mask_B11T_ = {};
    return;
  }
  const Dims sizes = {static_cast<int64_t>(spans.size()), 1, 1, longest_};
  const ShapeTensor ends_B = integers(run_, sizes[0]);
  const ShapeTensor positions_T = integers(run_, longest_);
  mask_B11T_ = empty(run_, sizes, DType::kBool);
}

void ShapeCache::set(ShapeTensor& held, const Dims& sizes) const {
  held = empty(run_, sizes, DType::kInt64);
}

void ShapeCache::append(const ShapeTensor& k_TGK, const ShapeTensor& v_TGK) {
  store(k_TGK);
  store(v_TGK);
}

void ShapeCache::store(const ShapeTensor& x_TGK) const {
  if (has_scales(shape_.type)) {
    encode(x_TGK, shape_.type);
  } else {
    to(x_TGK, codes_.dtype);
  }
}

KeyValueShapes ShapeCache::read(int64_t begin, int64_t end, DType type) const {
  ShapeTensor k_BGTK = load(begin, end, type);
  return {std::move(k_BGTK), load(begin, end, type)};
}

ShapeTensor ShapeCache::load(int64_t begin, int64_t end, DType type) const {
  ShapeTensor x_BGTK = get(codes_, begin, end);
  if (!has_scales(shape_.type)) return to(x_BGTK, type);
  const ShapeTensor scales_BGT = get(scales_, begin, end);
  const ShapeTensor numbers = to(x_BGTK, DType::kFp32);
  return to(mul(numbers, unsqueeze(scales_BGT, 3)), type);
}

std::unique_ptr<ShapeCache> make_shape_cache(Run& run, const KvCacheShape& shape) {
  if (shape.form == KvCacheForm::kPaged) return std::make_unique<PagedShapeCache>(run, shape);
  return std::make_unique<ContiguousShapeCache>(run, shape);
}

}  // namespace headroom
