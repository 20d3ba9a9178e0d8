// The cards that can be simulated, and their properties. No torch here.
//
// The figures are data: cards/cards.json, each with its source, embedded when the program is built.
// A file of the same format, named by HEADROOM_CARDS, changes cards or adds some.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Limits of one multiprocessor of a compute capability.
struct MultiprocessorLimits {
  int64_t threads_per_multiprocessor = 0;
  int64_t blocks_per_multiprocessor = 0;
  int64_t shared_memory_per_block = 0;           // bytes, by default
  int64_t shared_memory_per_block_optin = 0;     // bytes, if a kernel opts in
  int64_t shared_memory_per_multiprocessor = 0;  // bytes
  int64_t reserved_shared_memory_per_block = 0;  // bytes that CUDA takes from each block
  int64_t registers_per_multiprocessor = 0;      // 32-bit
  int64_t fp32_lanes_per_multiprocessor = 0;     // FP32 multiply-adds per clock
  std::string source;
};

// Dense peaks in TFLOP/s (INT8: TOP/s), on matrix units if the card has them, FP32 accumulation.
// Empty if the card has no such unit.
struct PeakRates {
  std::optional<double> fp64, fp32, tf32, fp16, bf16, fp8, int8;
};

// One card. The integers are those of cudaGetDeviceProperties.
struct Card {
  std::string name;                // on the command line: "a100-80gb"
  std::string driver_name;         // "NVIDIA A100-SXM4-80GB"
  std::string compute_capability;  // "8.0"
  int64_t multiprocessors = 0;
  int64_t total_bytes = 0;       // totalGlobalMem: less than the advertised capacity
  int64_t memory_bus_bits = 0;   // width of the memory bus
  int64_t memory_clock_khz = 0;  // two transfers per clock: bytes/s = bits / 8 * 2 * clock
  int64_t clock_khz = 0;         // highest clock of the multiprocessors
  int64_t l2_bytes = 0;
  int64_t memory_bandwidth = 0;  // bytes per second, from the data sheet
  std::string host_link;         // "PCIe 4.0 x16", "NVLink-C2C"
  int64_t host_bandwidth = 0;    // bytes per second in one direction, the link's peak
  std::string host_linux;        // version of the host's kernel, "5.15"; "" = 6.7 or newer
  int64_t nvlink_channels = 0;   // found by NCCL between such cards of one host; 0 = PCIe
  PeakRates peak_tflops;
  MultiprocessorLimits limits;    // of its compute capability
  int64_t context_bytes = 0;      // taken by a CUDA context before the first tensor
  bool context_measured = false;  // false: computed by the rule of cards.json
  std::string refused;            // the reason why libtorch cannot run on it; "" = it can
  std::map<std::string, std::string> sources;  // properties, total_bytes, memory_bandwidth, ...
  std::vector<std::string> assumed;            // figures without a published source: "clock_khz"
};

// The built-in cards, changed by those of $HEADROOM_CARDS, read once. Throws UsageError that names
// the file, the card and the field.
const std::vector<Card>& cards();

// Case-insensitive. Throws UsageError on an unknown name, with similar names and all names.
const Card& find_card(std::string_view name);

// The card with exactly this driver name: a laptop or cut-down card of a similar name is another.
const Card* find_card_of_driver(std::string_view driver_name);

// "name=NVIDIA H200;compute_capability=9.0;...": the content of HEADROOM_VIRTUAL_CARD, from which
// the virtual GPU's stand-in library reads its card. Numbers are plain decimal; no value has ';' or
// '='.
std::string stand_in_description(const Card& card);

}  // namespace headroom
