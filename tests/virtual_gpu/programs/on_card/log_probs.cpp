// The memory of a policy's log-probabilities and entropy beyond hidden states and head: computed
// directly, and in chunks (train/ppo/losses/token_log_probs.h), with the gradients of both inputs.
// Run on a virtual card. Prints a table in Markdown; exits 1 if the peak in chunks is not the
// formula's.
#include <cstdio>

#include "tests/virtual_gpu/programs/on_card/on_card.h"
#include "train/ppo/losses/token_log_probs.h"
#include "train/techniques/precision.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr double kGib = 1024.0 * 1024 * 1024;

enum class Numbers { kFp32, kAutocast, kBf16 };

struct Shape {
  const char* model;
  int64_t tokens, width, vocabulary;
  Numbers numbers;
};

const char* word(Numbers numbers) {
  switch (numbers) {
    case Numbers::kFp32:
      return "FP32";
    case Numbers::kAutocast:
      return "FP32, products in BF16";
    case Numbers::kBf16:
      return "BF16";
  }
  return "";
}

c10::CachingAllocator::Stat requested() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  return stats.requested_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

using Form = TokenLogProbs (*)(const Tensor&, const Tensor&, const Tensor&, const LogProbOptions&);

// Requested bytes at the peak of a forward and its backward, beyond the inputs. Runs twice, because
// cuBLAS takes its workspace in the first.
int64_t peak_of(Form form, const Shape& shape, const LogProbOptions& options) {
  const auto numbers =
      torch::device(torch::kCUDA)
          .dtype(shape.numbers == Numbers::kBf16 ? torch::kBFloat16 : torch::kFloat32)
          .requires_grad(true);
  const Tensor hidden_TD = torch::zeros({shape.tokens, shape.width}, numbers);
  const Tensor weight_VD = torch::zeros({shape.vocabulary, shape.width}, numbers);
  const Tensor tokens_T =
      torch::zeros({shape.tokens}, torch::device(torch::kCUDA).dtype(torch::kInt64));
  int64_t peak = 0;
  for (int i = 0; i < 2; ++i) {
    hidden_TD.mutable_grad() = weight_VD.mutable_grad() = Tensor();
    c10::cuda::CUDACachingAllocator::emptyCache();
    const int64_t before = requested().current;
    c10::cuda::CUDACachingAllocator::resetPeakStats(0);
    TokenLogProbs made;
    {
      const bool autocast = shape.numbers == Numbers::kAutocast;
      const AutocastGuard guard(autocast ? Precision::kBf16 : Precision::kFp32, torch::kCUDA);
      made = form(hidden_TD, weight_VD, tokens_T, options);
    }
    (made.log_probs_T.sum() + made.entropy_T.sum()).backward();
    peak = requested().peak - before;
  }
  return peak;
}

// The gradients of both inputs, and for a chunk: the logits in the product's type if not FP32, in
// FP32, and their exponentials. With autocast also the casts of both inputs, and a chunk's product,
// which is added to the head's gradient. A few numbers per token are not included.
int64_t formula(const Shape& shape, const LogProbOptions& options) {
  const int64_t chunk = std::min(options.chunk_tokens, shape.tokens) * shape.vocabulary;
  const int64_t hidden = shape.tokens * shape.width;
  const int64_t head = shape.vocabulary * shape.width;
  const int64_t kFp32 = 4;
  const int64_t kBf16 = 2;
  switch (shape.numbers) {
    case Numbers::kFp32:
      return kFp32 * (hidden + head + 2 * chunk);
    case Numbers::kBf16:
      return kBf16 * (hidden + head) + kFp32 * 2 * chunk;
    case Numbers::kAutocast:
      return kBf16 * (2 * hidden + head) + kFp32 * head +
             std::max(kFp32 * 2 * chunk, kBf16 * (chunk + head));
  }
  return 0;
}

bool print_row(const Shape& shape) {
  const LogProbOptions options;
  const int64_t plain = peak_of(plain_token_log_probs, shape, options);
  const int64_t chunked = peak_of(token_log_probs, shape, options);
  const int64_t expected = formula(shape, options);
  // log-probabilities, entropy, log-sums, their gradients and copies: at most 16 numbers a token.
  const int64_t small = 16 * 8 * shape.tokens;
  std::printf("| %s | %ld | %ld | %s | %.3f | %.3f | %.3f | %.1f |\n", shape.model,
              static_cast<long>(shape.tokens), static_cast<long>(shape.vocabulary),
              word(shape.numbers), static_cast<double>(plain) / kGib,
              static_cast<double>(chunked) / kGib, static_cast<double>(expected) / kGib,
              100.0 * static_cast<double>(plain - chunked) / static_cast<double>(plain));
  const bool as_computed = chunked >= expected && chunked <= expected + small;
  if (!as_computed) {
    std::fprintf(stderr, "%s, %s: %ld bytes, computed %ld\n", shape.model, word(shape.numbers),
                 static_cast<long>(chunked), static_cast<long>(expected));
  }
  return as_computed;
}

}  // namespace

int print_log_probs() {
  std::printf(
      "| model | tokens | vocabulary | weights | written out, GiB | in chunks of 512, GiB | "
      "computed, GiB | saved, %% |\n| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |\n");
  bool as_computed = true;
  for (const Numbers numbers : {Numbers::kFp32, Numbers::kAutocast, Numbers::kBf16}) {
    for (const Shape& shape : {Shape{"small", 4 * 512, 768, 10000, numbers},
                               Shape{"2.7B", 4 * 512, 2560, 10000, numbers},
                               Shape{"7b", 4 * 2048, 4096, 128000, numbers}}) {
      as_computed = print_row(shape) && as_computed;
    }
  }
  return as_computed ? 0 : 1;
}

}  // namespace headroom
