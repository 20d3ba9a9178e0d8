// Cache of the keys and values of earlier tokens, for generation.
//
// Note [Two forms of a cache]
// Rationale: with one row of memory per sequence, reads are in place, but every row is as long as
//   the longest sequence may become. Blocks are taken as sequences grow and are given back, but
//   reads go through a table.
// Approach: keys and values of all layers are one tensor, made once: (L, 2, B, G, T, K) contiguous,
//   (L, 2, blocks, 16, G, K) paged. begin() takes the spans that come next and computes their
//   places once for all layers; append() writes one layer's entries, read() returns one layer's.
//   In 8 bits each key and each value of each head has its own scale: its largest magnitude over
//   the largest code (127, or 448 for e4m3). One scale for the whole tensor would have to be known
//   before the first token, and one outlier would cost every other token its digits. A scale takes
//   4 bytes for K codes.
// Limits: no gradients. Reads decode FP8 and INT8, one layer at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/batch_layout.h"
#include "model/kv_cache/kv_cache_shape.h"
#include "model/torch.h"

namespace headroom {

struct KeysValues {
  Tensor k_BGTK, v_BGTK;
};

class KvCache {
 public:
  virtual ~KvCache() = default;

  // Announces the spans to append next; each begins where its sequence ends so far. With too
  // few free blocks it throws c10::Error and changes nothing.
  void begin(const std::vector<SequenceSpan>& spans);
  // Appends one layer's keys and values of those spans, (T, G, K) each.
  void append(int64_t layer, const Tensor& k_TGK, const Tensor& v_TGK);
  // One layer's keys and values for the sequences of spans [begin, end), in this type. T is the
  // longest sequence of all spans; past a sequence's end values are finite but arbitrary.
  KeysValues read(int64_t layer, int64_t begin, int64_t end, torch::Dtype type) const;
  // Mask of each sequence's own positions, (B, 1, 1, T) bool; undefined where all are its own.
  const Tensor& mask_B11T() const { return mask_B11T_; }

  // With keeps = true, begin() writes into its existing tensors, a mask always exists and reads are
  // as long as the cache. A CUDA graph of a pass then stays valid for the next pass with as many
  // spans, if no pass with another number came between.
  void keep_shapes(bool keeps) { keeps_shapes_ = keeps; }

  // Ends the sequence: its length is 0 again, and its blocks are free.
  virtual void release(int64_t row);
  int64_t length(int64_t row) const { return lengths_[static_cast<size_t>(row)]; }

  const KvCacheShape& shape() const { return shape_; }
  std::vector<Tensor> storages() const;  // codes, and scales if the type has them

 protected:
  KvCache(const KvCacheShape& shape, std::vector<int64_t> sizes, torch::Device device);

  // Throws c10::Error if the spans do not fit.
  virtual void check_room(const std::vector<SequenceSpan>&) const {}
  // Assigns the places of the spans' tokens. Called once per pass, after lengths_ is updated.
  virtual void place(const std::vector<SequenceSpan>& spans) = 0;
  // Writes entries (T, G, K) or (T, G) into one layer's keys or values, at the places of place().
  virtual void put(const Tensor& stored, const Tensor& entries_T) = 0;
  // Reads the entries of spans [begin, end): (B, G, T, K), or (B, G, T) if `stored` has no K.
  virtual Tensor get(const Tensor& stored, int64_t begin, int64_t end) const = 0;

  // Sets `held` to these values, on the device.
  void set(Tensor& held, const Tensor& values) const;

  const std::vector<SequenceSpan>& spans() const { return spans_; }
  int64_t longest() const { return longest_; }  // longest sequence of the pass, in tokens
  torch::Device device() const { return device_; }

 private:
  void store(int64_t layer, int64_t part, const Tensor& x_TGK);
  Tensor load(int64_t layer, int64_t part, int64_t begin, int64_t end, torch::Dtype type) const;

  KvCacheShape shape_;
  torch::Device device_;
  Tensor codes_;                  // (L, 2, ..., K); e4m3 as bytes
  Tensor scales_;                 // the same without K; undefined if the type has no scales
  std::vector<int64_t> lengths_;  // by row
  std::vector<SequenceSpan> spans_;
  int64_t longest_ = 0;
  bool keeps_shapes_ = false;
  Tensor mask_B11T_;
};

std::unique_ptr<KvCache> make_kv_cache(const KvCacheShape& shape, torch::Device device);

}  // namespace headroom
