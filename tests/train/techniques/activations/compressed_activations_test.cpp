#include "train/techniques/activations/compressed_activations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <numeric>

#include "tests/files/scratch_directory.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"
#include "train/techniques/activations/quantize.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr ActivationForm kForms[] = {ActivationForm::kInt8, ActivationForm::kFp8};

Activations all_of(ActivationForm form) { return {.form = form, .block = 32, .min_bytes = 0}; }

// Counts the packed storages and records the calls.
class Packs : public SavedTensors {
 public:
  explicit Packs(const Activations& activations) : inner_(activations) {}
  bool takes(const Tensor& tensor) override {
    const bool takes = inner_.takes(tensor);
    ++(takes ? taken : left);
    return takes;
  }
  std::unique_ptr<PackedTensor> pack(const Tensor& tensor) override {
    auto packed = inner_.pack(tensor);
    last = packed.get();
    return packed;
  }
  int taken = 0;
  int left = 0;
  PackedTensor* last = nullptr;

 private:
  CompressedActivations inner_;
};

class CompressedActivationsTest : public testing::Test {
 protected:
  CompressedActivationsTest() {
    install_saved_tensor_hooks();
    torch::manual_seed(1);
    x = torch::randn({16, 64}).requires_grad_(true);
    weight = torch::randn({64, 64}).requires_grad_(true);
  }
  // A tensor in the graph, like an operation's input.
  static Tensor in_graph(const Tensor& tensor) { return tensor * 1.0; }

  Tensor x, weight;
};

TEST_F(CompressedActivationsTest, TakesWhatAGradientGoesThrough) {
  CompressedActivations packs(all_of(ActivationForm::kInt8));
  const Tensor y = in_graph(x);
  EXPECT_TRUE(packs.takes(y));
  EXPECT_TRUE(packs.takes(y.t()));
  EXPECT_TRUE(packs.takes(y.to(torch::kBFloat16)));
  EXPECT_TRUE(packs.takes(y.to(torch::kHalf)));
  EXPECT_FALSE(packs.takes(y.detach())) << "a constant: a rotary table, a mask";
  EXPECT_FALSE(packs.takes(y.to(torch::kFloat64)));
  EXPECT_FALSE(packs.takes((y > 0)));
  EXPECT_FALSE(packs.takes(y.argmax(-1)));
  EXPECT_FALSE(packs.takes(y.sum(-1, true))) << "a number per row is divided by";
  EXPECT_FALSE(packs.takes(y.sum())) << "a scalar";
}

TEST_F(CompressedActivationsTest, LeavesParametersTheirViewsAndTheirCasts) {
  CompressedActivations packs(all_of(ActivationForm::kInt8));
  EXPECT_FALSE(packs.takes(weight));
  EXPECT_FALSE(packs.takes(weight.t()));
  EXPECT_FALSE(packs.takes(weight.unsqueeze(0).expand({3, 64, 64}).permute({2, 0, 1})));
  EXPECT_FALSE(packs.takes(weight.to(torch::kBFloat16)));
  EXPECT_FALSE(packs.takes(weight.t().unsqueeze(0).to(torch::kBFloat16).transpose(1, 2)));
  EXPECT_TRUE(packs.takes(weight * 2.0)) << "an activation";
  EXPECT_TRUE(packs.takes(weight.index({torch::arange(32)}))) << "an embedding's rows";
  EXPECT_TRUE(packs.takes((weight * 2.0).t().to(torch::kBFloat16)));
}

TEST_F(CompressedActivationsTest, LeavesStoragesBelowTheMinimum) {
  Activations activations = all_of(ActivationForm::kInt8);
  activations.min_bytes = 4 * 16 * 64;
  const Tensor y = in_graph(x);
  EXPECT_TRUE(CompressedActivations(activations).takes(y));
  EXPECT_TRUE(CompressedActivations(activations).takes(y.narrow(0, 0, 2))) << "of a large storage";
  EXPECT_FALSE(CompressedActivations(activations).takes(y.to(torch::kBFloat16)));
  activations.min_bytes += 1;
  EXPECT_FALSE(CompressedActivations(activations).takes(y));
}

TEST_F(CompressedActivationsTest, AViewComesBackWithItsShapeStridesOffsetAndNumbers) {
  const Tensor base = torch::randn({6, 8, 10}).to(torch::kBFloat16);
  const std::vector<Tensor> views = {base,
                                     base.transpose(0, 2),
                                     base.narrow(1, 2, 3).permute({1, 2, 0}),
                                     base.select(0, 3),
                                     base.slice(2, 1, 9, 3),
                                     base.select(2, 4).unsqueeze(1).expand({6, 5, 8})};
  for (const ActivationForm form : kForms) {
    CompressedActivations packs(all_of(form));
    Tensor all = torch::empty({base.numel()}, base.options());
    dequantize(quantize(base.view({-1}), all_of(form)), all);
    std::vector<std::unique_ptr<PackedTensor>> packed;
    for (const Tensor& view : views) packed.push_back(packs.pack(view));
    for (size_t i = 0; i < views.size(); ++i) {
      const Tensor back = packed[i]->unpack();
      EXPECT_EQ(back.scalar_type(), at::kBFloat16);
      EXPECT_EQ(back.sizes(), views[i].sizes());
      EXPECT_EQ(back.strides(), views[i].strides());
      EXPECT_EQ(back.storage_offset(), views[i].storage_offset());
      EXPECT_TRUE(torch::equal(
          back, all.as_strided(views[i].sizes(), views[i].strides(), views[i].storage_offset())));
    }
  }
}

TEST_F(CompressedActivationsTest, TheSavesOfAStorageShareOneDecodingUntilTheLastHasHadIt) {
  CompressedActivations packs(all_of(ActivationForm::kInt8));
  const Tensor base = torch::randn({8, 32});
  auto first = packs.pack(base);
  auto second = packs.pack(base.t());
  const auto weak = [](const Tensor& tensor) {
    return c10::weak_intrusive_ptr<c10::StorageImpl>(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
            tensor.storage().unsafeGetStorageImpl()));
  };
  const auto decoded = weak(first->unpack());
  EXPECT_FALSE(decoded.expired()) << "the other save has not been needed yet";
  first.reset();
  {
    const Tensor again = second->unpack();
    EXPECT_EQ(again.storage().unsafeGetStorageImpl(), decoded._unsafe_get_target());
  }
  EXPECT_TRUE(decoded.expired()) << "nobody waits";
  EXPECT_TRUE(torch::allclose(second->unpack(), base.t(), 0, 0.05)) << "a second backward";
}

// Another storage at the same address, or the same one after a change, is packed again.
TEST_F(CompressedActivationsTest, AStorageThatChangedIsPackedAgain) {
  CompressedActivations packs(all_of(ActivationForm::kInt8));
  Tensor base = torch::ones({8, 32});
  const auto before = packs.pack(base);
  base.add_(1);
  const auto after = packs.pack(base);
  EXPECT_NEAR(before->unpack()[0][0].item<double>(), 1, 1e-5);
  EXPECT_NEAR(after->unpack()[0][0].item<double>(), 2, 1e-5);
  std::vector<std::unique_ptr<PackedTensor>> kept;
  for (int i = 0; i < 500; ++i) kept.push_back(packs.pack(torch::full({8, 32}, double(i))));
  for (int i = 0; i < 500; ++i) {
    ASSERT_NEAR(kept[i]->unpack()[0][0].item<double>(), i, 1e-4 * i);
  }
}

TEST_F(CompressedActivationsTest, OriginalsDieInForwardAndAllOfItAfterBackward) {
  Packs packs(all_of(ActivationForm::kInt8));
  c10::weak_intrusive_ptr<c10::StorageImpl> original(
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(x.storage().unsafeGetStorageImpl()));
  Tensor loss;
  {
    const SavingGuard guard(&packs);
    const Tensor y = torch::sigmoid(x.matmul(weight));
    original = c10::weak_intrusive_ptr<c10::StorageImpl>(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(y.storage().unsafeGetStorageImpl()));
    loss = y.square().sum();
  }
  EXPECT_TRUE(original.expired());
  EXPECT_EQ(packs.taken, 2) << "sigmoid's result, square's input";
  EXPECT_EQ(packs.left, 2) << "x and weight are leaves";
  loss.backward();
  const Tensor gradient = weight.grad().clone();
  weight.mutable_grad() = Tensor();
  torch::sigmoid(x.matmul(weight)).square().sum().backward();
  EXPECT_TRUE(torch::allclose(gradient, weight.grad(), 0.02, 0.05));
  EXPECT_FALSE(torch::equal(gradient, weight.grad()));
}

// Whole models.

RunSpec small_spec() {
  RunSpec spec = tiny_spec();
  spec.profile_type = Mode::kForwardBackward;
  return spec;
}

struct Result {
  std::vector<double> losses;
  std::vector<Tensor> gradients;  // of the last step
};

Result run_steps(const RunSpec& spec, int64_t steps = 1) {
  std::vector<std::string> notes;
  const auto step = build_step(spec, torch::kCPU, &notes);
  const Data data(spec, model_config(spec).vocab_size, torch::kCPU, steps);
  Result result;
  for (int64_t i = 0; i < steps; ++i) {
    result.losses.push_back(step->run(data.batch(i)).item<double>());
  }
  for (const Tensor& parameter : step->model()->parameters()) {
    result.gradients.push_back(parameter.grad().clone());
  }
  return result;
}

// FP16's first scales are too large; steps that overflow are skipped and change no weights.
int64_t steps_to_finite_gradients(const RunSpec& spec) {
  for (int64_t steps = 1; steps < 30; ++steps) {
    bool finite = true;
    for (const Tensor& gradient : run_steps(spec, steps).gradients) {
      finite = finite && gradient.isfinite().all().item<bool>();
    }
    if (finite) return steps;
  }
  return 0;
}

double distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double apart = 0;
  double all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    apart += (a[i] - b[i]).to(torch::kFloat64).square().sum().item<double>();
    all += b[i].to(torch::kFloat64).square().sum().item<double>();
  }
  return std::sqrt(apart / all);
}

// The forward is bit-identical; gradients have the rounding errors of 8 bits.
TEST_F(CompressedActivationsTest, GradientsOfAModelAreWithinTheirTolerance) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
      RunSpec spec = small_spec();
      spec.precision = precision;
      spec.attention = attention;
      if (precision == Precision::kFp16) spec.profile_type = Mode::kTraining;
      const int64_t steps = steps_to_finite_gradients(spec);
      const Result exact = run_steps(spec, steps);
      for (const ActivationForm form : kForms) {
        spec.activations = {.form = form, .min_bytes = 0};
        const Result packed = run_steps(spec, steps);
        const std::string what =
            word_of(form) + " " + to_string(precision) + " " + to_string(attention);
        EXPECT_EQ(packed.losses, exact.losses) << what;
        const double off = distance(packed.gradients, exact.gradients);
        EXPECT_GT(off, 0) << what;
        EXPECT_LT(off, form == ActivationForm::kInt8 ? 0.02 : 0.06) << what;
        std::cout << what << ": gradients off by " << off << "\n";
      }
    }
  }
}

TEST_F(CompressedActivationsTest, WithAMinimumBeyondEverythingNothingChanges) {
  RunSpec spec = small_spec();
  const Result exact = run_steps(spec);
  spec.activations = {.form = ActivationForm::kInt8, .min_bytes = int64_t{1} << 40};
  EXPECT_EQ(distance(run_steps(spec).gradients, exact.gradients), 0);
}

// Uses the bytes of our own documents. HEADROOM_LONG: 200 steps, in the nightly tests.
TEST_F(CompressedActivationsTest, OnRealTextTheLossStaysWithinOnePercent) {
  const int64_t steps = std::getenv("HEADROOM_LONG") == nullptr ? 30 : 200;
  const ScratchDirectory scratch;
  std::string ids;
  for (const char* name : {"README.md", "CONTRIBUTING.md"}) {
    std::ifstream file(std::string(HEADROOM_SOURCES) + "/" + name, std::ios::binary);
    for (char byte = 0; file.get(byte);) ids += {byte, 0};
  }
  ASSERT_GT(ids.size(), 20000U);
  RunSpec spec = tiny_spec();
  spec.d_model = 64;
  spec.d_ff = 128;
  spec.vocab_size = 256;
  spec.context_length = 64;
  spec.batch_size = 8;
  spec.learning_rate = 3e-3;
  spec.tokens = scratch.write("text.bin", ids);
  const auto last = [&](const Result& result) {
    const auto ten = static_cast<std::ptrdiff_t>(std::min<size_t>(10, result.losses.size()));
    return std::accumulate(result.losses.end() - ten, result.losses.end(), 0.0) /
           static_cast<double>(ten);
  };
  const Result exact = run_steps(spec, steps);
  EXPECT_LT(last(exact), 0.8 * exact.losses.front()) << "it learns";
  for (const ActivationForm form : kForms) {
    spec.activations = {.form = form, .min_bytes = 4096};
    const double loss = last(run_steps(spec, steps));
    EXPECT_NEAR(loss, last(exact), 0.01 * last(exact)) << word_of(form);
    std::cout << word_of(form) << ": loss " << loss << " after " << steps << " steps, exact "
              << last(exact) << "\n";
  }
}

}  // namespace
}  // namespace headroom
