// host_update_bench: compares the host's AdamW with a copy, which is the memory's limit, and with
// torch's fused kernel. Takes Google Benchmark's flags; HOST_UPDATE_NUMBERS=N makes it small.
//
// Note [Bytes per second of an update]
// Rationale: an update limited only by the memory cannot be faster; its distance is a ratio of
//   bytes per second, which is meaningless if the two sides count differently.
// Approach: each read and each write in the loop counts once, as in STREAM: c[i] = a[i] in FP32 is
//   8 bytes per number. The update reads p, m, v, g and writes p, m, v and the weight: 32 bytes in
//   FP32, 28 with gradient and weight in BF16. It is compared with the faster of two copies:
//   through the caches, where each line of c is also read before it is written (not counted), and
//   past them.
// Limits: "in place" writes the weight over the gradient and has no such line; both are printed.
//   Torch's kernel gives each thread a fixed share, the copy and ours take parts as threads become
//   free: that favours ours on a busy machine, where threads wait. Use ratios of an idle machine.
//
// Note [Types of torch's fused AdamW]
// Rationale: torch's fused AdamW needs p, g, m and v of one type. With BF16 weights it either keeps
//   m, v and the weights themselves in BF16 (14 bytes per number, half of ours, and a v that no
//   longer changes: 0.1 % of it is less than a step of BF16), or gets FP32 copies.
// Approach: both are timed per number of the model. "bf16 weights, FP32 states" does the same as
//   ours: gradient widened, fused update of FP32 master weights, weight rounded to BF16.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "bench/google/stream_copy.h"
#include "model/torch.h"
#include "text/quantity.h"
#include "train/offload/states/host_adamw.h"

namespace headroom {
namespace {

using torch::Tensor;

// Arrays of four times the largest cache, as STREAM requires.
int64_t numbers() {
  if (const char* text = std::getenv("HOST_UPDATE_NUMBERS"))
    return std::max(64, std::atoi(text) / 64 * 64);
  int cache = 1 << 20;
  for (const auto& of : benchmark::CPUInfo::Get().caches) cache = std::max(cache, of.size);
  return 4 * int64_t{cache} / static_cast<int64_t>(sizeof(float));
}

// The arrays, shared by all cases.
struct Arrays {
  explicit Arrays(int64_t n)
      : p(torch::rand({n})),
        g(torch::rand({n})),
        m(torch::rand({n})),
        v(torch::rand({n})),
        w(torch::zeros({n})) {
    for (const Tensor* tensor : {&p, &g, &m, &v}) bf16.push_back(tensor->to(torch::kBFloat16));
  }
  int64_t n() const { return p.numel(); }

  Tensor p, g, m, v, w;
  std::vector<Tensor> bf16;  // p, g, m, v
  Tensor steps = torch::ones({});
};

void copy(Arrays& arrays, bool past_caches) {
  stream_copy(arrays.g.const_data_ptr<float>(), arrays.w.data_ptr<float>(), arrays.n(),
              past_caches);
}

void update(Arrays& arrays, HostNumber type, bool in_place) {
  const bool bf16 = type == HostNumber::kBf16;
  void* const gradient = bf16 ? arrays.bf16[1].data_ptr() : arrays.g.data_ptr();
  void* const weight = bf16 ? arrays.bf16[0].data_ptr() : arrays.w.data_ptr();
  host_adamw({.master = arrays.p.data_ptr<float>(),
              .m = arrays.m.data_ptr<float>(),
              .v = arrays.v.data_ptr<float>(),
              .gradient = gradient,
              .weight = in_place ? gradient : weight,
              .type = type,
              .elements = arrays.n()},
             {}, /*step=*/10);
}

void fused(const Tensor& p, const Tensor& g, const Tensor& m, const Tensor& v, const Tensor& t) {
  Tensor lists[] = {p, g, m, v, t};
  at::_fused_adamw_({&lists[0], 1}, {&lists[1], 1}, {&lists[2], 1}, {&lists[3], 1}, {},
                    {&lists[4], 1}, /*lr=*/1e-3, 0.9, 0.999, /*weight_decay=*/0.01, 1e-8,
                    /*amsgrad=*/false, /*maximize=*/false);
}

void torch_bf16(Arrays& arrays) {
  const std::vector<Tensor>& x = arrays.bf16;
  fused(x[0], x[1], x[2], x[3], arrays.steps);
}

void torch_bf16_weights_fp32_states(Arrays& arrays) {
  arrays.g.copy_(arrays.bf16[1]);
  fused(arrays.p, arrays.g, arrays.m, arrays.v, arrays.steps);
  arrays.bf16[0].copy_(arrays.p);
}

struct Case {
  const char* name;
  double bytes;  // per number
  std::function<void(Arrays&)> run;
};

const Case kCases[] = {
    {"copy", 8, [](Arrays& arrays) { copy(arrays, false); }},
    {"copy past the caches", 8, [](Arrays& arrays) { copy(arrays, true); }},
    {"host_adamw fp32", 32, [](Arrays& a) { update(a, HostNumber::kFp32, false); }},
    {"host_adamw fp32 in place", 32, [](Arrays& a) { update(a, HostNumber::kFp32, true); }},
    {"host_adamw bf16", 28, [](Arrays& a) { update(a, HostNumber::kBf16, false); }},
    {"host_adamw bf16 in place", 28, [](Arrays& a) { update(a, HostNumber::kBf16, true); }},
    {"torch fused bf16 weights, FP32 states", 40, torch_bf16_weights_fp32_states},
    {"torch fused bf16 weights and states", 14, torch_bf16},
};

// The library's table of aggregates over the repetitions, and the times for the ratios.
class Times : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      seconds_[run.run_name.function_name].push_back(run.real_accumulated_time /
                                                     static_cast<double>(run.iterations));
    }
    std::vector<Run> shown;
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate || run.error_occurred) shown.push_back(run);
    }
    ConsoleReporter::ReportRuns(shown);
  }

  bool has_all() const { return seconds_.size() == std::size(kCases); }

  // Nanoseconds per number: of the median repetition, or of the shortest.
  double nanoseconds(const Case& of, int64_t n, bool best) {
    std::vector<double>& all = seconds_[of.name];
    if (all.empty()) return 0;
    std::sort(all.begin(), all.end());
    return (best ? all.front() : all[all.size() / 2]) * 1e9 / static_cast<double>(n);
  }

 private:
  std::map<std::string, std::vector<double>> seconds_;
};

void print_ratios(Times& times, int64_t n, bool best) {
  const auto rate = [&](const Case& of) { return of.bytes / times.nanoseconds(of, n, best); };
  const double copied = std::max(rate(kCases[0]), rate(kCases[1]));
  const double states = times.nanoseconds(kCases[6], n, best);
  const double narrow = times.nanoseconds(kCases[7], n, best);
  std::printf("\n%s; the faster copy: %.1f GB/s\n", best ? "Shortest repetitions" : "Medians",
              copied);
  for (const Case& of : kCases) {
    const double time = times.nanoseconds(of, n, best);
    std::printf("%-38s %6.3f ns a number, %5.1f GB/s, %4.2f of the copy", of.name, time, rate(of),
                rate(of) / copied);
    if (std::string(of.name).starts_with("host_adamw bf16")) {
      std::printf("; torch takes %4.2fx (FP32 states), %4.2fx (all BF16)", states / time,
                  narrow / time);
    }
    std::printf("\n");
  }
}

int run(int argc, char** argv) {
  // Short repetitions in random order: other load on the machine affects all cases equally.
  std::vector<std::string> words = {argv[0], "--benchmark_repetitions=15",
                                    "--benchmark_enable_random_interleaving=true",
                                    "--benchmark_min_time=0.05"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> flags;
  flags.reserve(words.size());
  for (std::string& word : words) flags.push_back(word.data());
  int count = static_cast<int>(flags.size());
  benchmark::Initialize(&count, flags.data());
  if (benchmark::ReportUnrecognizedArguments(count, flags.data())) return 2;

  Arrays arrays(numbers());
  std::printf("%lld numbers, arrays of %s, %d threads\n", static_cast<long long>(arrays.n()),
              format_bytes(arrays.n() * 4).c_str(), at::get_num_threads());
  for (const Case& of : kCases) {
    benchmark::RegisterBenchmark(of.name, [&](benchmark::State& state) {
      for ([[maybe_unused]] auto _ : state) of.run(arrays);
      state.counters["bytes/s"] = benchmark::Counter(of.bytes * static_cast<double>(arrays.n()),
                                                     benchmark::Counter::kIsIterationInvariantRate);
    })->UseRealTime();
  }
  Times times;
  benchmark::RunSpecifiedBenchmarks(&times);
  if (!times.has_all()) return 0;  // a filter excluded some
  print_ratios(times, arrays.n(), /*best=*/false);
  print_ratios(times, arrays.n(), /*best=*/true);
  return 0;
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) { return headroom::run(argc, argv); }
