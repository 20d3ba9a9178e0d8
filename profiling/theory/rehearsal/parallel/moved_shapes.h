// Calls of collectives with shapes for tensors, for Note [Moved bytes]. No torch here.
#pragma once

#include <string>

#include "profiling/theory/ranks/moved.h"
#include "profiling/theory/rehearsal/operations/tensor.h"
#include "train/parallel/ranks/collective.h"
#include "train/settings/vocabulary/mesh.h"

namespace headroom {

// While this lives, it records the calls of the thread's last step. Else they are not
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
