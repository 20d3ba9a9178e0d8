// Gradients that replicas add up in buckets and give to who takes them, with shapes for tensors.
// Read beside train/parallel/data/data_parallel.h. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "profiling/theory/rehearsal/model.h"

namespace headroom {

class GivenShapes {
 public:
  GivenShapes(const std::vector<Parameter*>& parameters, int64_t bucket_bytes,
              std::function<void(Parameter&)> sink);
  // Parameters know it.
  GivenShapes(const GivenShapes&) = delete;
  GivenShapes& operator=(const GivenShapes&) = delete;

  void end_backward();

 private:
  struct Bucket {
    std::vector<Parameter*> parameters;
    size_t missing = 0;
  };

  void completed(Bucket& bucket);
  void give(const Bucket& bucket) const;

  std::function<void(Parameter&)> sink_;
  std::vector<Bucket> buckets_;
  const Bucket* adding_up_ = nullptr;
};

}  // namespace headroom
