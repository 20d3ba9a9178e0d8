// Keys and values of the tokens that came before, for generation.
//
// Note [Two forms of a cache]
// Rationale: a row of memory for every sequence is read in place, and holds what the longest may
//   become, of every sequence; blocks are taken as sequences grow, and given back, and are read
//   through a table.
// Approach: keys and values of all layers are one tensor, made once: (L, 2, B, G, T, K) contiguous,
//   (L, 2, blocks, 16, G, K) paged. begin() tells the cache which tokens come next and works out,
//   once for all layers, where they go; append() puts one layer's there, read() gives one layer's.
//   In 8 bits each key and each value of each head has its own scale, its largest magnitude over
//   the largest code (127, or 448 for e4m3): a scale for the whole tensor would have to be known
//   before the first token, and one token out of the ordinary would cost every other its digits.
//   That is 4 bytes for K codes.
// Limits: no gradients. FP8 and INT8 are decoded to be read, for one layer at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/kv_cache_shape.h"
#include "model/pass.h"
#include "model/torch.h"

namespace headroom {

struct KeysValues {
  Tensor k_BGTK, v_BGTK;
};

class KvCache {
 public:
  virtual ~KvCache() = default;

  // The stretches that are appended next; each begins where its sequence ends so far. Where fewer
  // blocks are free than they need, throws c10::Error and nothing has changed.
  void begin(const std::vector<Stretch>& stretches);
  // What one layer makes of them, (T, G, K) each.
  void append(int64_t layer, const Tensor& k_TGK, const Tensor& v_TGK);
  // What the sequences of stretches [begin, end) hold of one layer, in this type; T is the longest
  // of all stretches' sequences, and beyond its own end a sequence's is anything finite.
  KeysValues read(int64_t layer, int64_t begin, int64_t end, torch::Dtype type) const;
  // Which of these positions are a sequence's own, (B, 1, 1, T) bool; undefined where all are.
  const Tensor& mask_B11T() const { return mask_B11T_; }

  // While it keeps them, begin() writes into the tensors that it made before, there always is a
  // mask, and what is read is as long as the cache: a CUDA graph of a pass holds for the next one
  // of as many stretches, if none of another number was between them.
  void keep_shapes(bool keeps) { keeps_shapes_ = keeps; }

  // The sequence has ended: its length is 0 again, and its blocks are free.
  virtual void release(int64_t row);
  int64_t length(int64_t row) const { return lengths_[static_cast<size_t>(row)]; }

  const KvCacheShape& shape() const { return shape_; }
  std::vector<Tensor> storages() const;  // codes, and scales where there are any

 protected:
  KvCache(const KvCacheShape& shape, std::vector<int64_t> sizes, torch::Device device);

  // Throws c10::Error where there is no room for them.
  virtual void check_room(const std::vector<Stretch>&) const {}
  // Where the tokens of these stretches go. Called once a pass, after their lengths count.
  virtual void place(const std::vector<Stretch>& stretches) = 0;
  // Entries (T, G, K) or (T, G) into one layer's keys or values, where place() said.
  virtual void put(const Tensor& stored, const Tensor& entries_T) = 0;
  // Those of stretches [begin, end) out of it: (B, G, T, K), or (B, G, T) of what has no K.
  virtual Tensor get(const Tensor& stored, int64_t begin, int64_t end) const = 0;

  // `held` becomes these values, on the device.
  void set(Tensor& held, const Tensor& values) const;

  const std::vector<Stretch>& stretches() const { return stretches_; }
  int64_t longest() const { return longest_; }  // of the sequences of the pass, in tokens
  torch::Device device() const { return device_; }

 private:
  void store(int64_t layer, int64_t part, const Tensor& x_TGK);
  Tensor load(int64_t layer, int64_t part, int64_t begin, int64_t end, torch::Dtype type) const;

  KvCacheShape shape_;
  torch::Device device_;
  Tensor codes_;                  // (L, 2, ..., K); e4m3 as bytes
  Tensor scales_;                 // the same without K; undefined where the type has none
  std::vector<int64_t> lengths_;  // of every row
  std::vector<Stretch> stretches_;
  int64_t longest_ = 0;
  bool keeps_shapes_ = false;
  Tensor mask_B11T_;
};

std::unique_ptr<KvCache> make_kv_cache(const KvCacheShape& shape, torch::Device device);

}  // namespace headroom
