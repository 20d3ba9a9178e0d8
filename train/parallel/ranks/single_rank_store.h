// A store for a rank that runs without the others.
//
// Note [A rank alone]
// Rationale: one rank of a large mesh is enough to measure that rank; the others need not run.
// Approach: an unset key reads as an absent rank's value: 128 bytes, like NCCL's identity of a
//   communicator, always the same for one key. Waits return at once. On cards the virtual NCCL
//   answers for the others (HEADROOM_VIRTUAL_ABSENT).
// Limits: our ranks exchange only identities through a store; virtual cards only.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace headroom {

class SingleRankStore final : public c10d::Store {
 public:
  using Bytes = std::vector<uint8_t>;

  c10::intrusive_ptr<c10d::Store> clone() override;
  void set(const std::string& key, const Bytes& value) override;
  Bytes get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>&) override {}
  void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) override {}

 private:
  std::mutex mutex_;  // process groups watch the store from their own threads
  std::map<std::string, Bytes> known_;
};

}  // namespace headroom
