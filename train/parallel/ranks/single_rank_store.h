// A store for a rank that runs without the others.
//
// Note [A rank alone]
// Rationale: one rank of a large mesh says what that rank needs; the others need not run.
// Approach: what nobody set is what an absent rank would have set: 128 bytes, as NCCL's identity of
//   a communicator is, the same for one key every time. Nobody is waited for. On the cards the
//   virtual NCCL answers for the others (HEADROOM_VIRTUAL_ABSENT).
// Limits: identities are all that our ranks tell each other through a store; virtual cards only.
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
  std::mutex mutex_;  // process groups watch from threads of their own
  std::map<std::string, Bytes> known_;
};

}  // namespace headroom
