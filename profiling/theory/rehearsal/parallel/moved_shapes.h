// Calls of collectives with shapes for tensors, for Note [Moved bytes]. No torch here.
#pragma once

#include <string>

#include "profiling/theory/ranks/moved.h"
#include "profiling/theory/rehearsal/operations/tensor.h"
#include "train/parallel/ranks/collective.h"
#include "train/vocabulary/mesh.h"

namespace headroom {

// Of the thread, while it lives: the calls of the last step that is gone through. Else they are not
// counted.
class CountingMoved {
 public:
  explicit CountingMoved(MovedCount& count);
  ~CountingMoved();
  CountingMoved(const CountingMoved&) = delete;
  CountingMoved& operator=(const CountingMoved&) = delete;

 private:
  MovedCount* before_;
};

void begin_moved_step();

struct MovedCall {
  MeshAxis axis;
  Collective kind;
  bool between_copies = false;
};

// sizes: of the whole of the tensor, in these letters ("B*S*D"); of a single number none of either.
void count_moved(Run& run, const MovedCall& call, const std::string& tensor,
                 const std::string& letters, const Dims& sizes, DType dtype);

}  // namespace headroom
