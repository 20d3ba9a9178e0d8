#include "train/settings/vocabulary/activations.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kFlag = "--activations";
constexpr const char* kActivationsExample = "--activations int8:block=64,min=64KiB";
constexpr int64_t kSmallestInt8Block = 8;  // with fewer, scales outweigh the savings
constexpr int64_t kLargestBlock = 65536;

// Every form once.
struct FormEntry {
  ActivationForm form;
  const char* word;
  const char* meaning;
  const CodeType* codes = nullptr;
  bool offloaded = false;
};
constexpr CodeType kInt8Codes = {.type = DType::kInt8, .largest = 127};
constexpr CodeType kE4m3Codes = {.type = DType::kFp8, .largest = 448};
constexpr FormEntry kForms[] = {
    {ActivationForm::kExact, "exact", "as autograd saves it"},
    {ActivationForm::kInt8, "int8", "64 numbers of 8 bits share one scale", &kInt8Codes},
    {ActivationForm::kFp8, "fp8", "e4m3, 64 numbers share one scale", &kE4m3Codes},
    {ActivationForm::kOffload, "offload", "in host memory, fetched one block ahead", nullptr, true},
    {ActivationForm::kOffloadInt8, "offload-int8", "in host memory and in 8 bits", &kInt8Codes,
     true}};

const FormEntry& entry_of(ActivationForm form) {
  return *std::find_if(std::begin(kForms), std::end(kForms),
                       [&](const FormEntry& entry) { return entry.form == form; });
}

// A smaller copy is not worth its launch.
int64_t usual_min_bytes(ActivationForm form) {
  return Activations{.form = form}.offloaded() ? int64_t{1} << 20 : Activations().min_bytes;
}

// The number or size after "block=" or "min="; errors quote the whole text.
template <typename Parse>
int64_t option_value(std::string_view text, std::string_view option, std::string_view allowed,
                     const Parse& parse) {
  const std::string_view value = option.substr(option.find('=') + 1);
  try {
    return parse(value);
  } catch (const UsageError&) {
    throw UsageError(kFlag, text,
                     "has " + std::string(option) + "; allowed: " + std::string(allowed),
                     kActivationsExample);
  }
}

void read_option(Activations& activations, std::string_view text, std::string_view option) {
  const std::string name(option.substr(0, option.find('=')));
  std::vector<std::string> options = {"min"};
  if (activations.encoded()) options.insert(options.begin(), "block");
  if (option.find('=') == std::string_view::npos || !is_one_of(name, options)) {
    throw UsageError(kFlag, text,
                     "has the unknown option '" + std::string(option) + "'; allowed after '" +
                         word_of(activations.form) + ":' are " +
                         (activations.encoded() ? "block=N, " : "") + "min=BYTES" +
                         did_you_mean(nearest_name(name, options)),
                     kActivationsExample);
  }
  if (name == "block") {
    activations.block =
        option_value(text, option, "8 to 65536 numbers", [](std::string_view value) {
          return parse_integer(kFlag, value, kSmallestInt8Block, kLargestBlock);
        });
  } else {
    activations.min_bytes =
        option_value(text, option, "bytes, or a number and kB, MB, GB, KiB, MiB or GiB",
                     [](std::string_view value) { return parse_bytes(kFlag, value); });
  }
}

}  // namespace

const EnumWords<ActivationForm>& words_of(ActivationForm) {
  static const EnumWords<ActivationForm> kWords = [] {
    EnumWords<ActivationForm> words;
    for (const FormEntry& entry : kForms) words.push_back({entry.form, entry.word, entry.meaning});
    return words;
  }();
  return kWords;
}

bool Activations::offloaded() const { return entry_of(form).offloaded; }

const CodeType* Activations::codes() const { return entry_of(form).codes; }

Activations parse_activations(std::string_view text) {
  const size_t colon = text.find(':');
  Activations activations{.form = parse_word<ActivationForm>(kFlag, text.substr(0, colon))};
  activations.min_bytes = usual_min_bytes(activations.form);
  if (colon == std::string_view::npos) return activations;
  if (activations.exact()) {
    throw UsageError(kFlag, text, "has options, and exact takes none", kActivationsExample);
  }
  std::vector<std::string> seen;
  for (const std::string& option : parse_list(kFlag, text.substr(colon + 1), kActivationsExample)) {
    const std::string name = option.substr(0, option.find('='));
    if (is_one_of(name, seen)) {
      throw UsageError(kFlag, text, "has " + name + "= twice; allowed: once", kActivationsExample);
    }
    seen.push_back(name);
    read_option(activations, text, option);
  }
  return activations;
}

std::string to_string(const Activations& activations) {
  const Activations standard;
  std::vector<std::string> options;
  if (activations.block != standard.block) {
    options.push_back("block=" + std::to_string(activations.block));
  }
  if (activations.min_bytes != usual_min_bytes(activations.form)) {
    options.push_back("min=" + exact_bytes(activations.min_bytes));
  }
  std::string text = word_of(activations.form);
  if (!options.empty()) text += ":" + join(options, ",");
  return text;
}

int64_t scales_of(int64_t numbers, int64_t block) {
  return numbers / block + (numbers % block != 0);
}

}  // namespace headroom
