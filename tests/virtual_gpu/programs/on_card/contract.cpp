// The contract of docs/step/techniques.md, in one process on a card: a run that is out of memory in
// the middle of a step, in each of its phases, leaves the process usable. The next run equals the
// first. Run on a virtual card, whose own allocator refuses. Prints one line per row; exits 1 if
// one fails.
#include "tests/train/techniques/contract.h"

#include <unistd.h>

#include <cstdio>

#include "bench/cell/run.h"
#include "tests/virtual_gpu/programs/on_card/on_card.h"

namespace headroom {
namespace {

// Limits the card's bytes for libtorch.
class SmallCard {
 public:
  explicit SmallCard(int64_t bytes) {
    size_t free = 0;
    size_t total = 0;
    TORCH_CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
    c10::cuda::CUDACachingAllocator::setMemoryFraction(
        static_cast<double>(bytes) / static_cast<double>(total), 0);
  }
  ~SmallCard() { c10::cuda::CUDACachingAllocator::setMemoryFraction(1, 0); }
  SmallCard(const SmallCard&) = delete;
  SmallCard& operator=(const SmallCard&) = delete;
};

Record run_ok(const RunSpec& spec) {
  Record record = run(spec, {});
  TORCH_CHECK(record.status == Status::kOk, record.reason);
  return record;
}

Record run_on_small_card(const RunSpec& spec, int64_t bytes) {
  const SmallCard card(bytes);
  return run(spec, {});
}

// Autograd's thread may release the failed operation after the exception arrives here.
void expect_live_bytes(int64_t expected) {
  constexpr int kMostMilliseconds = 10'000;
  for (int i = 0; i < kMostMilliseconds && live_bytes_of_card() != expected; ++i) usleep(1000);
  TORCH_CHECK(live_bytes_of_card() == expected, live_bytes_of_card() - expected,
              " bytes were left");
}

void keep_the_contract(RunSpec spec) {
  spec.device = parse_device("cuda");
  spec.context_length = 4096;  // segments and workspaces are small beside a step's memory
  compile_for(spec);
  run_ok(spec);  // libraries make their handles
  const Record first = run_ok(spec);
  const int64_t before = live_bytes_of_card();
  int64_t most = 0;
  for (const auto& [phase, bytes] : first.phases) {
    const Record record = run_on_small_card(spec, bytes.allocated - 1);
    TORCH_CHECK(record.status == Status::kOom, phase.text(), ": ", to_string(record.status), ' ',
                record.reason);
    TORCH_CHECK(record.out_of_memory->during.find("step") != std::string::npos, record.reason);
    expect_live_bytes(before);
    most = std::max(most, record.out_of_memory->refusal->live.allocated);
  }
  const Record after = run_ok(spec);
  TORCH_CHECK(after.peak->allocated == first.peak->allocated, "the next peak is another");
  TORCH_CHECK(after.categories_at_peak == first.categories_at_peak);
  std::printf("%s: peak %lld, refused at %lld\n", row_name(spec).c_str(),
              static_cast<long long>(first.peak->allocated), static_cast<long long>(most));
}

}  // namespace

int check_contract() {
  // Libraries create their handles, and workspaces in separate segments, while nothing is cached.
  RunSpec first = contract_on_card().front().with;
  first.device = parse_device("cuda");
  run_ok(first);
  bool fails = false;
  const auto cells = share_of(ContractProgram::kCard, contract_on_card());
  for (const ContractCell& cell : cells) {
    try {
      keep_the_contract(cell.with);
    } catch (const c10::Error& error) {
      std::printf("%s: %s\n", cell.name.c_str(), error.what_without_backtrace());
      fails = true;
    }
  }
  return fails ? 1 : 0;
}

}  // namespace headroom
