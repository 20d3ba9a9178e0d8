#include "virtual_gpu/nccl/values/simulated_peers.h"

#include <utility>

namespace virtual_gpu {
namespace {

Echo& echo_at(std::vector<Echo>& echoes, size_t number) {
  while (echoes.size() <= number) echoes.push_back(std::make_shared<Bytes>());
  return echoes[number];
}

}  // namespace

SimulatedPeers::Exchanges& SimulatedPeers::exchanges_with(int rank, uint64_t group) {
  Exchanges& exchanges = by_rank_[rank];
  if (exchanges.group != group) exchanges = {.group = group};
  return exchanges;
}

void SimulatedPeers::add_sent(uint64_t group, int to, Bytes bytes) {
  if (group == 0) return;
  const std::lock_guard lock(mutex_);
  Exchanges& exchanges = exchanges_with(to, group);
  *echo_at(exchanges.echoes, exchanges.sent++) = std::move(bytes);
}

Echo SimulatedPeers::of_receive(uint64_t group, int from) {
  if (group == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  Exchanges& exchanges = exchanges_with(from, group);
  return echo_at(exchanges.echoes, exchanges.received++);
}

}  // namespace virtual_gpu
