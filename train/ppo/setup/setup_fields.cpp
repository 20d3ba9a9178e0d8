// The one list of PpoSetup's settings. Its order is that of --help.
#include <string_view>
#include <utility>

#include "text/quantity.h"
#include "text/words.h"
#include "train/ppo/setup/setup.h"

namespace headroom {
namespace {

constexpr int64_t kMostOfASetup = int64_t{1} << 40;

// A member of PpoSetup, or of its PpoSpec.
template <auto kMember, typename Setup>
auto& member_of(Setup& setup) {
  if constexpr (requires { setup.*kMember; }) {
    return setup.*kMember;
  } else {
    return setup.ppo.*kMember;
  }
}

template <auto kMember>
PpoField number(const char* name, const char* help) {
  return {.name = name,
          .help = help,
          .get = [](const PpoSetup& setup) { return shortest_text(member_of<kMember>(setup)); },
          .set =
              [](const std::string& flag, PpoSetup& setup, const std::string& text) {
                member_of<kMember>(setup) = parse_number(flag, text, 0, 1e6);
              }};
}

template <auto kMember, int64_t kLeast>
PpoField integer(const char* name, const char* help) {
  return {.name = name,
          .help = help,
          .get = [](const PpoSetup& setup) { return std::to_string(member_of<kMember>(setup)); },
          .set =
              [](const std::string& flag, PpoSetup& setup, const std::string& text) {
                member_of<kMember>(setup) = parse_integer(flag, text, kLeast, kMostOfASetup);
              }};
}

template <auto kMember>
PpoField word(const char* name, const char* help) {
  using Enum = std::remove_reference_t<decltype(member_of<kMember>(std::declval<PpoSetup&>()))>;
  return {.name = name,
          .help = help,
          .choices = choices_of<Enum>(),
          .get = [](const PpoSetup& setup) { return word_of(member_of<kMember>(setup)); },
          .set =
              [](const std::string& flag, PpoSetup& setup, const std::string& text) {
                member_of<kMember>(setup) = parse_word<Enum>(flag, text);
              }};
}

template <auto kMember>
PpoField on_off(const char* name, const char* help) {
  return {.name = name,
          .help = help,
          .is_switch = true,
          .get =
              [](const PpoSetup& setup) {
                return std::string(member_of<kMember>(setup) ? "true" : "false");
              },
          .set =
              [](const std::string& flag, PpoSetup& setup, const std::string& text) {
                check_choice(flag, text, {"true", "false"}, flag);
                member_of<kMember>(setup) = text == "true";
              }};
}

// "actor" is the actor's shape, stored as "".
template <auto kMember>
PpoField size_of_model(const char* name, const char* help) {
  return {.name = name,
          .help = help,
          .get = [](const PpoSetup& setup) { return setup.*kMember; },
          .set = [](const std::string&, PpoSetup& setup,
                    const std::string& text) { setup.*kMember = text == "actor" ? "" : text; }};
}

void set_share(const std::string& flag, PpoSetup& setup, const std::string& text) {
  const double share = parse_number(flag, text, 0, 1);
  if (share == 0) {
    throw UsageError(flag, text, "is not a share of a card; allowed: above 0, up to 1",
                     flag + " 0.4");
  }
  setup.gpu_memory_utilization = share;
}

PpoField share_of_generation() {
  return {.name = "gpu_memory_utilization",
          .help =
              "share of the card for the actor and its cache in generation; replaces "
              "--kv-cache-tokens",
          .get =
              [](const PpoSetup& setup) {
                const double share = setup.gpu_memory_utilization;
                return share == 0 ? std::string() : shortest_text(share);
              },
          .set = set_share};
}

constexpr std::string_view kDisk = "disk";

std::string reference_text(const PpoSetup& setup) {
  const std::string& directory = setup.reference_directory;
  return directory.empty() ? word_of(setup.reference) : std::string(kDisk) + ":" + directory;
}

// Parses a place, or "disk:DIR".
void set_reference(const std::string& flag, PpoSetup& setup, const std::string& text) {
  setup.reference_directory.clear();
  if (text.substr(0, text.find(':')) != kDisk) {
    std::vector<std::string> words = choices_of<ReferencePlace>();
    words.emplace_back("disk:DIR");
    check_name(flag, text, words, flag + " offload");
    setup.reference = parse_word<ReferencePlace>(flag, text);
    return;
  }
  const std::string directory =
      text.size() > kDisk.size() ? text.substr(kDisk.size() + 1) : std::string();
  if (directory.empty() || directory.find(',') != std::string::npos) {
    throw UsageError(flag, text, "names no directory, or one with a comma; allowed: disk:DIR",
                     flag + " disk:/mnt/nvme");
  }
  setup.reference = ReferencePlace::kOffload;
  setup.reference_directory = directory;
}

PpoField reference_place() {
  return {.name = "reference",
          .help = "location of the reference model: resident, offload, disk:DIR, none",
          .get = reference_text,
          .set = set_reference};
}

}  // namespace

const std::vector<PpoField>& ppo_fields() {
  static const std::vector<PpoField> kFields = {
      word<&PpoSpec::algorithm>("algorithm", "algorithm of an iteration"),
      size_of_model<&PpoSetup::critic_size>(
          "critic_size", "critic: a named shape, or actor for the actor's shape (default)"),
      size_of_model<&PpoSetup::reward_size>(
          "reward_size", "reward model: a named shape, actor, or none: --reward-token scores"),
      reference_place(),
      integer<&PpoSetup::reward_token, 0>(
          "reward_token", "without a reward model: score = share of this token in a response"),
      word<&PpoSetup::prompt_lengths>("prompt_lengths", "distribution of prompt lengths"),
      integer<&PpoSpec::group_size, 1>("group_size", "responses per prompt"),
      number<&PpoSpec::kl_coef>("kl_coef",
                                "coefficient of the KL penalty, in rewards (ppo) or loss (grpo)"),
      word<&PpoSpec::kl_estimator>("kl_estimator", "estimator of the KL penalty in the rewards"),
      number<&PpoSpec::gamma>("gamma", "discount factor per token"),
      number<&PpoSpec::lambda>("lambda", "lambda of generalized advantage estimation"),
      on_off<&PpoSpec::whiten_advantages>("whiten_advantages",
                                          "ppo: normalize advantages to mean 0 and variance 1"),
      on_off<&PpoSpec::scale_by_group_std>(
          "scale_by_group_std", "grpo: divide advantages by the group's standard deviation"),
      number<&PpoSpec::clip>("clip", "clipping range of the probability ratio around 1"),
      number<&PpoSpec::value_clip>(
          "value_clip", "clipping range of a value around its old value; 0 = no clipping"),
      number<&PpoSpec::value_coef>("value_coef", "coefficient of the critic's loss"),
      number<&PpoSpec::entropy_coef>("entropy_coef", "coefficient of the entropy bonus"),
      word<&PpoSpec::loss_agg_mode>("loss_agg_mode", "aggregation of the token losses"),
      integer<&PpoSpec::epochs, 1>("epochs", "training epochs over the sequences of an iteration"),
      integer<&PpoSpec::minibatches, 1>("minibatches", "optimizer updates per epoch"),
      integer<&PpoSpec::max_tokens_per_micro_batch, 0>(
          "max_tokens_per_micro_batch",
          "maximum prompt and response tokens per micro-batch; 0 = no limit"),
      integer<&PpoSpec::chunk_tokens, 1>("chunk_tokens",
                                         "tokens whose logits are in memory at once"),
      integer<&PpoSetup::iterations, 1>("iterations",
                                        "measured iterations, after one warm-up iteration"),
      on_off<&PpoSetup::swap_phases>(
          "swap_phases", "keep models and states that a phase does not need in host memory"),
      share_of_generation(),
      on_off<&PpoSetup::empty_cache_between_phases>(
          "empty_cache_between_phases",
          "return the allocator's cached memory to the card before each phase")};
  return kFields;
}

}  // namespace headroom
