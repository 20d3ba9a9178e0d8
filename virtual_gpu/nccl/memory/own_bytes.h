// NCCL's own memory on a card, outside of the program's allocator.
//
// Note [NCCL's own memory]
// Rationale: on 8 cards it is from 0.5 to over 3 GiB of each. No allocator's statistics show it,
//   and it is missing when a job runs out of memory.
// Approach: NCCL 2.28.9's source: a channel keeps three small arrays on the card, each in its own
//   pages (channel.cc); a connection to a neighbour keeps a buffer per channel, made when its
//   algorithm is first used (transport/p2p.cc, net.cc, nvls.cc). Settings are read from the
//   environment like NCCL's.
// Limits: a program with another NCCL has 2.28.9's figures. NCCL finds the number of channels by a
// search of the machine's links, which are unknown
//   here: the card's usual number is used (cards/cards.json), and every figure is assumed. Ranks
//   fill a host before the next, and every network card is equally near. No CollNet, no PAT, no
//   shared resources of a split, no registered buffers. Cards over PCIe are assumed to reach each
//   other; if not, their buffers are on the host.
#pragma once

#include <cstdint>

namespace virtual_gpu {

// In bytes unless stated otherwise. The comments name NCCL's environment variables.
struct NcclSettings {
  int64_t simple_buffer = int64_t{4} << 20;    // NCCL_BUFFSIZE
  int64_t ll_buffer = int64_t{512} << 10;      // NCCL_LL_BUFFSIZE
  int64_t ll128_buffer = int64_t{4800} << 10;  // NCCL_LL128_BUFFSIZE
  int64_t nvlink_chunk = int64_t{512} << 10;   // NCCL_P2P_NVL_CHUNKSIZE
  int64_t pcie_chunk = int64_t{128} << 10;     // NCCL_P2P_PCI_CHUNKSIZE
  int64_t network_chunk = int64_t{128} << 10;  // NCCL_P2P_NET_CHUNKSIZE
  int64_t nvls_chunk = int64_t{128} << 10;     // NCCL_NVLS_CHUNKSIZE
  int64_t least_channels = 0;                  // NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS
  int64_t most_channels = 64;                  // NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS
  int64_t most_pair_channels = 64;             // NCCL_MAX_P2P_NCHANNELS
  bool has_nvls = true;                        // NCCL_NVLS_ENABLE
  bool in_pages = true;                        // NCCL_CUMEM_ENABLE: each array in pages of 2 MiB
  bool connects_late = true;                   // NCCL_RUNTIME_CONNECT, and in_pages

  static NcclSettings of_environment();
};

// A rank's part of a communicator.
struct NcclPlace {
  int64_t ranks = 1;
  int64_t rank = 0;
  int64_t cards_a_host = 1;
  int64_t nvlink_channels = 0;  // found by NCCL over NVLink on one host; 0 = PCIe
  int major = 0;                // compute capability
  int minor = 0;
};

class NcclOwnBytes {
 public:
  NcclOwnBytes(const NcclPlace& place, const NcclSettings& settings);

  int64_t set_up() const;  // when the communicator is made
  int64_t rings() const;   // at the first collective over the ring
  int64_t trees() const;   // in addition, at the first all-reduce over several hosts
  int64_t nvls() const;    // in addition, at the first large all-reduce inside one host
  int64_t send_to(int64_t peer) const;  // at the first send to that rank
  int64_t receive_from(int64_t peer) const;
  // Both directions of point to point over the network: once for all ranks of other hosts.
  int64_t network_pool() const;

  bool is_one_host() const { return hosts_ == 1; }
  bool is_beside(int64_t peer) const;  // on the same host
  // True if NCCL's time model chooses NVLink SHARP for an all-reduce of that many bytes.
  bool takes_nvls(int64_t bytes) const;
  bool connects_late() const { return settings_.connects_late; }

 private:
  int64_t pages(int64_t bytes) const;
  // Per channel: to and from a card of the same host, and over the network.
  int64_t receive_buffer() const;
  int64_t send_buffer() const;
  int64_t network_receive_buffer() const;
  int64_t network_send_buffer() const;
  bool is_read_by_receiver() const;
  int64_t channels_to_peer() const;
  int64_t pool(int64_t chunk) const;
  bool is_gateway(int64_t channel) const;

  NcclPlace place_;
  NcclSettings settings_;
  int64_t local_ranks_, hosts_, channels_, pair_channels_, nvls_channels_;
};

}  // namespace virtual_gpu
