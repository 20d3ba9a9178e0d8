#include "virtual_gpu/nccl/memory/own_bytes.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace virtual_gpu {
namespace {

constexpr int64_t kPage = int64_t{2} << 20;
constexpr int64_t kHead = 4096;         // ncclSendMem, ncclRecvMem
constexpr int64_t kSteps = 8;           // slots of a buffer
constexpr int64_t kSharedSteps = 16;    // slots of the network's shared buffer
constexpr int64_t kPeerBytes = 608;     // ncclDevChannelPeer: four ncclConnInfo
constexpr int64_t kChannelBytes = 512;  // ncclDevChannel, about
constexpr int64_t kMostChannels = 64;
constexpr int64_t kPcieChannels = 2;
constexpr int64_t kChannelsOverHosts = 16;
constexpr int64_t kCreditBytes = 64;

int64_t up_to(int64_t amount, int64_t unit) { return (amount + unit - 1) / unit * unit; }

// Parses like NCCL: decimal, octal or hexadecimal; invalid text counts as unset.
void read(const char* name, int64_t& value) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  errno = 0;
  char* end = nullptr;
  const long long number = std::strtoll(text, &end, 0);
  if (errno == 0 && end != text && number >= 0) value = number;
}

void read(const char* name, bool& value) {
  int64_t number = value ? 1 : 0;
  read(name, number);
  value = number != 0;
}

int64_t channels_of(const NcclPlace& place, int64_t hosts) {
  if (place.ranks == 1) return kMostChannels;
  if (place.nvlink_channels == 0) return kPcieChannels;
  return hosts == 1 ? place.nvlink_channels : std::min(place.nvlink_channels, kChannelsOverHosts);
}

int64_t nvls_channels_of(const NcclPlace& place, int64_t hosts, int64_t local_ranks) {
  if (place.nvlink_channels == 0 || place.major < 9 || local_ranks < 2) return 0;
  if (place.major == 9) return 16;
  return hosts == 1 ? 24 : 32;
}

}  // namespace

NcclSettings NcclSettings::of_environment() {
  NcclSettings settings;
  read("NCCL_BUFFSIZE", settings.simple_buffer);
  read("NCCL_LL_BUFFSIZE", settings.ll_buffer);
  read("NCCL_LL128_BUFFSIZE", settings.ll128_buffer);
  read("NCCL_P2P_NVL_CHUNKSIZE", settings.nvlink_chunk);
  read("NCCL_P2P_PCI_CHUNKSIZE", settings.pcie_chunk);
  read("NCCL_P2P_NET_CHUNKSIZE", settings.network_chunk);
  read("NCCL_NVLS_CHUNKSIZE", settings.nvls_chunk);
  for (const char* name : {"NCCL_MIN_NRINGS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS"}) {
    read(name, settings.least_channels);
  }
  for (const char* name : {"NCCL_MAX_NRINGS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"}) {
    read(name, settings.most_channels);
  }
  read("NCCL_MAX_P2P_NCHANNELS", settings.most_pair_channels);
  read("NCCL_NVLS_ENABLE", settings.has_nvls);
  read("NCCL_CUMEM_ENABLE", settings.in_pages);
  read("NCCL_RUNTIME_CONNECT", settings.connects_late);
  settings.connects_late = settings.connects_late && settings.in_pages;
  return settings;
}

NcclOwnBytes::NcclOwnBytes(const NcclPlace& place, const NcclSettings& settings)
    : place_(place),
      settings_(settings),
      local_ranks_(std::min(place.ranks, std::max<int64_t>(place.cards_a_host, 1))),
      hosts_((place.ranks + local_ranks_ - 1) / local_ranks_),
      channels_(channels_of(place, hosts_)) {
  const int64_t most = std::clamp<int64_t>(settings.most_channels, 1, kMostChannels);
  channels_ = std::max(std::min(channels_, most), std::min(settings.least_channels, kMostChannels));
  pair_channels_ = std::min(channels_, std::max<int64_t>(settings.most_pair_channels, 1));
  pair_channels_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(pair_channels_)));
  nvls_channels_ = settings.has_nvls ? nvls_channels_of(place, hosts_, local_ranks_) : 0;
  nvls_channels_ = std::min(nvls_channels_, most);
}

int64_t NcclOwnBytes::pages(int64_t bytes) const {
  return settings_.in_pages ? up_to(bytes, kPage) : bytes;
}

int64_t NcclOwnBytes::set_up() const {
  int64_t bytes = pages(kMostChannels * kChannelBytes) + pages(4 * place_.ranks);
  // Per channel: its peers, the pointers to them, and the ranks in the ring's order.
  bytes += std::max(channels_, pair_channels_) *
           (pages(kPeerBytes * place_.ranks) + pages(8 * (place_.ranks + 1 + local_ranks_)) +
            pages(4 * place_.ranks));
  if (nvls_channels_ > 0) {
    bytes += nvls_channels_ * pages(kPeerBytes * local_ranks_);
    bytes += up_to(nvls_channels_ * 2 * kCreditBytes * local_ranks_, kPage);
  }
  if (settings_.connects_late) return bytes;
  const int64_t chunk = place_.nvlink_channels > 0 || place_.ranks == 1 ? settings_.nvlink_chunk
                                                                        : settings_.pcie_chunk;
  return bytes + pool(hosts_ == 1 ? chunk : settings_.network_chunk);
}

// Network buffers shared by all pairs of ranks, in one direction.
int64_t NcclOwnBytes::pool(int64_t chunk) const {
  return pair_channels_ * kSharedSteps * std::min(chunk, settings_.simple_buffer / kSteps);
}

// The sender of an A100 over NVLink keeps the simple buffer.
bool NcclOwnBytes::is_read_by_receiver() const {
  return place_.nvlink_channels > 0 && place_.major == 8 && place_.minor == 0;
}

int64_t NcclOwnBytes::receive_buffer() const {
  return up_to(kHead + settings_.ll_buffer + settings_.ll128_buffer +
                   (is_read_by_receiver() ? 0 : settings_.simple_buffer),
               kPage);
}

int64_t NcclOwnBytes::send_buffer() const {
  return up_to(kHead + (is_read_by_receiver() ? settings_.simple_buffer : 0), kPage);
}

int64_t NcclOwnBytes::network_send_buffer() const {
  return up_to(settings_.ll128_buffer + settings_.simple_buffer, kPage);
}

int64_t NcclOwnBytes::network_receive_buffer() const {
  return up_to(settings_.ll_buffer + settings_.ll128_buffer + settings_.simple_buffer, kPage);
}

// True if this rank is its host's gateway to the network in a channel: they take turns.
bool NcclOwnBytes::is_gateway(int64_t channel) const {
  return hosts_ > 1 && channel % local_ranks_ == place_.rank % local_ranks_;
}

int64_t NcclOwnBytes::rings() const {
  if (place_.ranks == 1) return 0;
  int64_t bytes = 0;
  for (int64_t channel = 0; channel < channels_; ++channel) {
    bytes += is_gateway(channel) ? network_send_buffer() : send_buffer();
    bytes += is_gateway(channel + 1) ? network_receive_buffer() : receive_buffer();
  }
  return bytes;
}

// Inside a host a tree is a chain along the ring, half of the channels in each direction: its
// neighbours send where the ring only receives. Over hosts a rank has a parent and, on average, one
// child.
int64_t NcclOwnBytes::trees() const {
  int64_t bytes = 0;
  if (local_ranks_ > 2) {
    const int64_t local = place_.rank % local_ranks_;
    const bool is_end = local == 0 || local == local_ranks_ - 1;
    bytes += channels_ * (send_buffer() + receive_buffer()) / (is_end ? 2 : 1);
  }
  for (int64_t channel = 0; channel < channels_; ++channel) {
    if (is_gateway(channel)) bytes += 2 * (network_send_buffer() + network_receive_buffer());
  }
  return bytes;
}

int64_t NcclOwnBytes::nvls() const {
  return up_to(nvls_channels_ * 2 * settings_.nvls_chunk * kSteps * local_ranks_, kPage);
}

// graph/tuning.cc: its bandwidth is that of the ring's links x 2 x efficiency x (n - 1) / n, and
// its latency of 25 us is made up for from about 1 MiB on.
bool NcclOwnBytes::takes_nvls(int64_t bytes) const {
  constexpr int64_t kLeast = int64_t{1} << 20;
  const double efficiency = place_.major == 9 ? 0.85 : 0.74;
  const auto ranks = static_cast<double>(local_ranks_);
  return nvls_channels_ > 0 && bytes >= kLeast && 2 * efficiency * (ranks - 1) / ranks > 1;
}

bool NcclOwnBytes::is_beside(int64_t peer) const {
  return peer / local_ranks_ == place_.rank / local_ranks_;
}

int64_t NcclOwnBytes::channels_to_peer() const {
  return place_.nvlink_channels > 0 ? pair_channels_ : std::min(kPcieChannels, pair_channels_);
}

int64_t NcclOwnBytes::send_to(int64_t peer) const {
  return peer == place_.rank || !is_beside(peer) ? 0 : channels_to_peer() * send_buffer();
}

int64_t NcclOwnBytes::receive_from(int64_t peer) const {
  return peer == place_.rank || !is_beside(peer) ? 0 : channels_to_peer() * receive_buffer();
}

int64_t NcclOwnBytes::network_pool() const { return 2 * pool(settings_.network_chunk); }

}  // namespace virtual_gpu
