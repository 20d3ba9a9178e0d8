// Writes what the C++ block and head compute in FP64, with gradients, for block_test.py to compare.
// usage: block_values FOLDER
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>
#include <string>

#include "model/loss.h"
#include "model/torch.h"
#include "model/transformer.h"

namespace headroom {
namespace {

using torch::Tensor;
using Values = c10::Dict<std::string, Tensor>;

constexpr int64_t kBatch = 2;
constexpr int64_t kContext = 7;

void add_parameters(Values& values, const torch::nn::Module& module) {
  for (const auto& named : module.named_parameters()) {
    values.insert(named.key(), named.value().detach());
    values.insert("gradient of " + named.key(), named.value().grad());
  }
}

// Parameters of ones would hide a norm's weight.
void shake(const torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : module.parameters()) {
    parameter.add_(torch::randn_like(parameter), /*alpha=*/0.1);
  }
}

void write(const std::string& path, const Values& values) {
  const std::vector<char> bytes = torch::jit::pickle_save(values);
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Values of_block(TransformerBlock& block, const std::vector<Tensor>& tables, int64_t d_model) {
  const Tensor x = torch::randn({kBatch, kContext, d_model}, torch::kFloat64).requires_grad_();
  const Tensor output = block(x);
  const Tensor gradient = torch::randn_like(output);
  output.backward(gradient);
  Values values;
  for (const auto& [name, value] :
       {std::pair{"x", x.detach()}, std::pair{"gradient of x", x.grad()},
        std::pair{"cos", tables[0]}, std::pair{"sin", tables[1]},
        std::pair{"output", output.detach()}, std::pair{"gradient of output", gradient}}) {
    values.insert(name, value);
  }
  add_parameters(values, *block);
  return values;
}

Values of_head(Transformer& model, int64_t vocabulary) {
  const Tensor x =
      torch::randn({kBatch, kContext, model->d_model()}, torch::kFloat64).requires_grad_();
  const Tensor targets = torch::randint(vocabulary, {kBatch, kContext});
  const Tensor loss = cross_entropy(model->head(model->norm(x)), targets);
  loss.backward();
  Values values;
  values.insert("x", x.detach());
  values.insert("gradient of x", x.grad());
  values.insert("targets", targets);
  values.insert("output", loss.detach());
  values.insert("gradient of output", torch::ones_like(loss));
  for (const auto& named : model->named_parameters()) {
    if (!named.value().grad().defined()) continue;
    values.insert(named.key(), named.value().detach());
    values.insert("gradient of " + named.key(), named.value().grad());
  }
  return values;
}

void write_values(const std::string& folder, Attention attention, int64_t kv_heads) {
  torch::manual_seed(1);
  const ModelConfig config{.name = "custom",
                           .d_model = 32,
                           .d_ff = 48,
                           .layers = 1,
                           .heads = 4,
                           .kv_heads = kv_heads,
                           .vocab_size = 40};
  TransformerBlock block = nullptr;
  Transformer model(eager_layers(), config, kContext, attention, torch::kCPU, torch::kFloat64,
                    [&](int64_t, TransformerBlock& made) { block = made; });
  shake(*model);
  const std::string name = std::string(attention == Attention::kEager ? "eager" : "sdpa") + "_" +
                           std::to_string(kv_heads);
  write(folder + "/block_" + name, of_block(block, model->tables(), config.d_model));
  model->zero_grad();
  write(folder + "/head_loss_" + name, of_head(model, config.vocab_size));
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  using headroom::Attention;
  if (argc != 2) return 2;
  for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
    for (const int64_t kv_heads : {4, 2}) headroom::write_values(argv[1], attention, kv_heads);
  }
}
