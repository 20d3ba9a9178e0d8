#include "train/offload/blocks/prefetching_runner.h"

#include <ATen/autocast_mode.h>

#include <utility>

namespace headroom {

using torch::Tensor;

BlockRunner with_prefetch(BlockPrefetcher& books, BlockRunner inner) {
  return [&books, inner = std::move(inner)](int64_t index, TransformerBlock& block,
                                            const Tensor& x_BSD) {
    const bool with_graph = torch::GradMode::is_enabled();
    const bool hooked = with_graph && !books.in_backward();
    struct Running {
      BlockPrefetcher& books;
      int64_t index;
      bool with_graph;
      ~Running() {
        books.end_run(index, with_graph);
        // Frees autocast's copies of the block's weights, except those saved for backward.
        at::autocast::clear_cache();
      }
    };
    books.begin_run(index);
    const Running running{books, index, with_graph};
    if (hooked && books.is_first(index)) {
      x_BSD.register_hook([&books](const Tensor&) { books.end_backward(); });
    }
    Tensor y_BSD = inner(index, block, x_BSD);
    if (hooked) {
      y_BSD.register_hook([&books, index](const Tensor&) { books.begin_backward(index); });
    }
    return y_BSD;
  };
}

}  // namespace headroom
