// A cache of keys and values, with shapes for tensors. Read beside
// model/kv_cache/kv_cache.h. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/kv_cache/kv_cache_shape.h"
#include "profiling/theory/rehearsal/generate/pass.h"
#include "profiling/theory/rehearsal/operations/tensor.h"

namespace headroom {

struct KeyValueShapes {
  ShapeTensor k_BGTK, v_BGTK;
};

// Neither a block's contents nor earlier calls change a shape: a paged cache is known by how
// many blocks it has, and spans say where they begin.
class ShapeCache {
 public:
  virtual ~ShapeCache() = default;

  void begin(const std::vector<RehearsedSpan>& spans);
  void append(const ShapeTensor& k_TGK, const ShapeTensor& v_TGK);
  KeyValueShapes read(int64_t begin, int64_t end, DType type) const;
  const ShapeTensor& mask_B11T() const { return mask_B11T_; }

 protected:
  ShapeCache(Run& run, const KvCacheShape& shape, Dims sizes);

  virtual void place(const std::vector<RehearsedSpan>& spans) = 0;
  virtual ShapeTensor get(const ShapeTensor& stored, int64_t begin, int64_t end) const = 0;
  // On the card; what was held goes when it is there.
  void set(ShapeTensor& held, const Dims& sizes) const;

  const std::vector<RehearsedSpan>& spans() const { return spans_; }
  int64_t longest() const { return longest_; }

  Run& run_;

 private:
  void store(const ShapeTensor& x_TGK) const;
  ShapeTensor load(int64_t begin, int64_t end, DType type) const;

  KvCacheShape shape_;
  ShapeTensor codes_;   // one layer's keys or values, a view
  ShapeTensor scales_;  // likewise; undefined where the type has none
  std::vector<RehearsedSpan> spans_;
  int64_t longest_ = 0;
  ShapeTensor mask_B11T_;
};

std::unique_ptr<ShapeCache> make_shape_cache(Run& run, const KvCacheShape& shape);

}  // namespace headroom
