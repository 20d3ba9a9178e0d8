#include "model/kv_cache/kv_cache.h"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

using torch::indexing::Slice;

torch::Dtype stored_as(KvCacheType type) {
  switch (type) {
    case KvCacheType::kFp32:
      return torch::kFloat32;
    case KvCacheType::kBf16:
      return torch::kBFloat16;
    case KvCacheType::kFp16:
      return torch::kFloat16;
    case KvCacheType::kFp8:
      return torch::kUInt8;  // the bits of e4m3: indexing does not support FP8
    case KvCacheType::kInt8:
      break;
  }
  return torch::kInt8;
}

// 8-bit codes and the scale of each (token, head).
std::pair<Tensor, Tensor> encode(const Tensor& x_TGK, KvCacheType type) {
  const bool int8 = type == KvCacheType::kInt8;
  const double largest_code = int8 ? 127 : 448;
  const Tensor numbers = x_TGK.to(torch::kFloat32);
  const Tensor scales_TG = numbers.abs().amax(-1) / largest_code;
  // A vector of zeros has zero codes for any divisor.
  const Tensor divisors_TG1 = torch::where(scales_TG == 0, 1.0, scales_TG).unsqueeze(-1);
  const Tensor codes = numbers / divisors_TG1;
  if (int8) return {codes.round().to(torch::kInt8), scales_TG};
  return {codes.to(torch::kFloat8_e4m3fn).view(torch::kUInt8), scales_TG};
}

class ContiguousCache final : public KvCache {
 public:
  ContiguousCache(const KvCacheShape& shape, torch::Device device)
      : KvCache(shape, {shape.sequences, shape.kv_heads, shape.tokens}, device) {}

 protected:
  void place(const std::vector<SequenceSpan>& spans) override {
    std::vector<int64_t> rows;
    std::vector<int64_t> positions;
    for (const SequenceSpan& span : spans) {
      for (int64_t i = 0; i < span.length; ++i) {
        rows.push_back(span.row);
        positions.push_back(span.first + i);
      }
    }
    set(rows_T_, torch::tensor(rows, torch::kInt64));
    set(positions_T_, torch::tensor(positions, torch::kInt64));
  }

  void put(const Tensor& stored, const Tensor& entries_T) override {
    stored.transpose(1, 2).index_put_({rows_T_, positions_T_}, entries_T);
  }

  Tensor get(const Tensor& stored, int64_t begin, int64_t end) const override {
    const auto row = [&](int64_t i) { return spans()[static_cast<size_t>(i)].row; };
    bool in_order = true;
    for (int64_t i = begin; i < end; ++i) in_order &= row(i) == row(begin) + i - begin;
    if (in_order) return stored.narrow(0, row(begin), end - begin).narrow(2, 0, longest());
    std::vector<int64_t> rows;
    for (int64_t i = begin; i < end; ++i) rows.push_back(row(i));
    return stored.narrow(2, 0, longest())
        .index_select(0, torch::tensor(rows, torch::kInt64).to(device()));
  }

 private:
  Tensor rows_T_, positions_T_;
};

class PagedCache final : public KvCache {
 public:
  PagedCache(const KvCacheShape& shape, torch::Device device)
      : KvCache(shape, {shape.all_blocks(), kKvCacheBlock, shape.kv_heads}, device),
        blocks_of_(static_cast<size_t>(shape.sequences)) {
    // The first block is given out first.
    for (int64_t block = shape.all_blocks(); block > 0; --block) free_.push_back(block - 1);
  }

  void release(int64_t row) override {
    KvCache::release(row);
    std::vector<int64_t>& blocks = blocks_of_[static_cast<size_t>(row)];
    free_.insert(free_.end(), blocks.rbegin(), blocks.rend());
    blocks.clear();
  }

 protected:
  void check_room(const std::vector<SequenceSpan>& spans) const override {
    int64_t wanted = 0;
    for (const SequenceSpan& span : spans) {
      const auto has = static_cast<int64_t>(blocks_of_[static_cast<size_t>(span.row)].size());
      wanted += std::max<int64_t>(blocks_for(span.first + span.length) - has, 0);
    }
    TORCH_CHECK(wanted <= static_cast<int64_t>(free_.size()), "the cache has ", free_.size(),
                " free blocks of ", kKvCacheBlock, " tokens, and ", wanted, " are needed");
  }

  void place(const std::vector<SequenceSpan>& spans) override {
    std::vector<int64_t> slots;
    const int64_t widest = blocks_for(longest());
    std::vector<int64_t> table;
    for (const SequenceSpan& span : spans) {
      std::vector<int64_t>& blocks = blocks_of_[static_cast<size_t>(span.row)];
      grow(blocks, span.first + span.length);
      for (int64_t i = span.first; i < span.first + span.length; ++i) {
        const int64_t block = blocks[static_cast<size_t>(i / kKvCacheBlock)];
        slots.push_back(block * kKvCacheBlock + i % kKvCacheBlock);
      }
      // Positions past the end of a sequence are masked: any block with finite values does.
      for (int64_t i = 0; i < widest; ++i) {
        table.push_back(i < static_cast<int64_t>(blocks.size()) ? blocks[static_cast<size_t>(i)]
                                                                : blocks.front());
      }
    }
    set(slots_T_, torch::tensor(slots, torch::kInt64));
    set(table_BN_,
        torch::tensor(table, torch::kInt64).view({static_cast<int64_t>(spans.size()), widest}));
  }

  void put(const Tensor& stored, const Tensor& entries_T) override {
    stored.flatten(0, 1).index_put_({slots_T_}, entries_T);
  }

  Tensor get(const Tensor& stored, int64_t begin, int64_t end) const override {
    const Tensor table_BN = table_BN_.narrow(0, begin, end - begin);
    return stored.index_select(0, table_BN.flatten())
        .unflatten(0, {end - begin, table_BN.size(1)})
        .flatten(1, 2)
        .narrow(1, 0, longest())
        .transpose(1, 2);
  }

 private:
  static int64_t blocks_for(int64_t tokens) { return (tokens + kKvCacheBlock - 1) / kKvCacheBlock; }
  void grow(std::vector<int64_t>& blocks, int64_t tokens) {
    while (static_cast<int64_t>(blocks.size()) < blocks_for(tokens)) {
      blocks.push_back(free_.back());
      free_.pop_back();
    }
  }

  std::vector<int64_t> free_;                    // the next one is at the end
  std::vector<std::vector<int64_t>> blocks_of_;  // by row, in token order
  Tensor slots_T_;                               // places of this pass's tokens
  Tensor table_BN_;                              // blocks of each span's sequence
};

}  // namespace

KvCache::KvCache(const KvCacheShape& shape, std::vector<int64_t> sizes, torch::Device device)
    : shape_(shape), device_(device), lengths_(static_cast<size_t>(shape.sequences)) {
  sizes.insert(sizes.begin(), {shape.layers, 2});
  // Zeros: values read past the end of a sequence must be finite, though masked.
  if (has_scales(shape.type)) {
    scales_ = torch::zeros(sizes, torch::dtype(torch::kFloat32).device(device));
  }
  sizes.push_back(shape.head_dim);
  codes_ = torch::zeros(sizes, torch::dtype(stored_as(shape.type)).device(device));
}

void KvCache::begin(const std::vector<SequenceSpan>& spans) {
  for (const SequenceSpan& span : spans) {
    TORCH_CHECK(span.row >= 0 && span.row < shape_.sequences, "the cache has ", shape_.sequences,
                " rows, and row ", span.row, " is asked for");
    TORCH_CHECK(span.first == length(span.row), "the sequence of row ", span.row, " has ",
                length(span.row), " tokens, and position ", span.first, " does not follow");
    TORCH_CHECK(span.first + span.length <= shape_.tokens, "the cache holds ", shape_.tokens,
                " tokens of a sequence, and ", span.first + span.length, " are needed");
  }
  check_room(spans);
  spans_ = spans;
  longest_ = 0;
  std::vector<int64_t> ends;
  for (const SequenceSpan& span : spans) {
    ends.push_back(lengths_[static_cast<size_t>(span.row)] = span.first + span.length);
    longest_ = std::max(longest_, ends.back());
  }
  if (keeps_shapes_) longest_ = shape_.tokens;
  place(spans);
  const bool even =
      std::all_of(ends.begin(), ends.end(), [&](int64_t end) { return end == longest_; });
  if (even && !keeps_shapes_) {
    mask_B11T_ = Tensor();
    return;
  }
  const Tensor ends_B = torch::tensor(ends, torch::kInt64).to(device_);
  const Tensor positions_T = torch::arange(longest_, torch::dtype(torch::kInt64).device(device_));
  set(mask_B11T_, ends_B.view({-1, 1, 1, 1}) > positions_T);
}

void KvCache::set(Tensor& held, const Tensor& values) const {
  if (keeps_shapes_ && held.defined() && held.sizes() == values.sizes()) {
    held.copy_(values);
  } else {
    held = values.to(device_);
  }
}

void KvCache::append(int64_t layer, const Tensor& k_TGK, const Tensor& v_TGK) {
  store(layer, 0, k_TGK);
  store(layer, 1, v_TGK);
}

void KvCache::store(int64_t layer, int64_t part, const Tensor& x_TGK) {
  const Tensor stored = codes_[layer][part];
  if (!has_scales(shape_.type)) return put(stored, x_TGK.to(stored.scalar_type()));
  const auto [codes, scales] = encode(x_TGK, shape_.type);
  put(stored, codes);
  put(scales_[layer][part], scales);
}

KeysValues KvCache::read(int64_t layer, int64_t begin, int64_t end, torch::Dtype type) const {
  return {load(layer, 0, begin, end, type), load(layer, 1, begin, end, type)};
}

Tensor KvCache::load(int64_t layer, int64_t part, int64_t begin, int64_t end,
                     torch::Dtype type) const {
  Tensor x_BGTK = get(codes_[layer][part], begin, end);
  if (!has_scales(shape_.type)) return x_BGTK.to(type);
  if (shape_.type == KvCacheType::kFp8) x_BGTK = x_BGTK.view(torch::kFloat8_e4m3fn);
  const Tensor scales_BGT = get(scales_[layer][part], begin, end);
  return (x_BGTK.to(torch::kFloat32) * scales_BGT.unsqueeze(-1)).to(type);
}

void KvCache::release(int64_t row) { lengths_[static_cast<size_t>(row)] = 0; }

std::vector<Tensor> KvCache::storages() const {
  if (!scales_.defined()) return {codes_};
  return {codes_, scales_};
}

std::unique_ptr<KvCache> make_kv_cache(const KvCacheShape& shape, torch::Device device) {
  if (shape.form == KvCacheForm::kPaged) return std::make_unique<PagedCache>(shape, device);
  return std::make_unique<ContiguousCache>(shape, device);
}

}  // namespace headroom
