#include "profiling/theory/rehearsal/offload/resident_shapes.h"

#include "profiling/theory/rehearsal/graph.h"

namespace headroom {

ShapeTensor run_resident(BlockPrefetcher& books, Run& run, int64_t index, const ShapeTensor& x_BSD,
                         const std::function<ShapeTensor(const ShapeTensor&)>& block) {
  struct Running {
    BlockPrefetcher& books;
    Run& run;
    int64_t index;
    bool with_graph;
    ~Running() {
      books.end_run(index, with_graph);
      run.cast_cache.clear();
    }
  };
  const bool hooked = run.grad_mode && !books.in_backward();
  books.begin_run(index);
  const Running running{books, run, index, run.grad_mode};
  if (hooked && books.is_first(index)) {
    x_BSD.made_by->when_reached.emplace_back([&books] { books.end_backward(); });
  }
  ShapeTensor y_BSD = block(x_BSD);
  if (hooked) {
    y_BSD.made_by->when_reached.emplace_back([&books, index] { books.begin_backward(index); });
  }
  return y_BSD;
}

}  // namespace headroom
