#include "virtual_gpu/cublas/matrix_product.h"

#include "virtual_gpu/device/machine.h"

namespace virtual_gpu {

void count_matrix_product(cudaStream_t stream, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
                          const void* written, uint64_t per_multiply_add) {
  Machine& machine = Machine::get();
  if (machine.count() == 0) return;
  const uint64_t flops = per_multiply_add * m * n * k * batch;
  if (machine.streams.issue(machine.stream(stream), NodeKind::kKernel, flops)) return;
  if (written == nullptr) {
    machine.contents.forget_all();
  } else {
    machine.contents.forget_through(reinterpret_cast<uint64_t>(written));
  }
  Counters& counters = machine.here().counters;
  counters.launches.fetch_add(1, std::memory_order_relaxed);
  counters.matrix_products.fetch_add(1, std::memory_order_relaxed);
  counters.matrix_product_flops.fetch_add(flops, std::memory_order_relaxed);
}

}  // namespace virtual_gpu
