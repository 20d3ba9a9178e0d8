// The arithmetic of quantize.h on the host, in the vectors of its processor. No torch here.
//
// Inductor's kernel took twice as long for int8; for e4m3 codes of 16-bit numbers Inductor has no
// vectors.
#pragma once

#include <cstdint>

#include "train/offload/states/host_number.h"
#include "train/offload/states/host_vectors.h"

namespace headroom {

// Blocks of `width` numbers one after another in memory, with a code for each number and a scale
// for each block.
struct HostBlocks {
  void* numbers;
  HostNumber type;
  uint8_t* codes;  // int8 in two's complement, or e4m3
  bool is_e4m3;
  float* scales;
  int64_t count;  // of blocks
  int64_t width;
};

// Codes and scales as Note [Block-wise 8 bit] defines them. The processor must have `vectors`;
// each gives the same bits.
void encode_on_host(const HostBlocks& blocks, HostVectors vectors);

// The numbers: code * scale in FP32, rounded to the nearest, ties to even.
void decode_on_host(const HostBlocks& blocks, HostVectors vectors);

}  // namespace headroom
