// Allocates GIB GiB on each of CARDS cards. Exit code 1 if a card refuses.
// usage: allocates GIB [CARDS]
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const size_t bytes = static_cast<size_t>(std::atoi(argv[1])) << 30;
  const int cards = argc > 2 ? std::atoi(argv[2]) : 1;
  for (int card = 0; card < cards; ++card) {
    void* memory = nullptr;
    cudaError_t error = cudaSetDevice(card);
    if (error == cudaSuccess) error = cudaMalloc(&memory, bytes);
    if (error != cudaSuccess) {
      std::fprintf(stderr, "card %d: %s\n", card, cudaGetErrorString(error));
      return 1;
    }
  }
  return 0;
}
