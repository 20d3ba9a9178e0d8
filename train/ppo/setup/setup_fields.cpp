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
    throw UsageError(flag, text, "is no share of a card; allowed: above 0, up to 1", flag + " 0.4");
  }
  setup.gpu_memory_utilization = share;
}

PpoField share_of_generation() {
  return {.name = "gpu_memory_utilization",
          .help =
              "share of the card that the actor and its cache may fill in generation: "
              "--kv-cache-tokens in other words",
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
          .help = "where the reference model is: resident, offload, disk:DIR, none",
          .get = reference_text,
          .set = set_reference};
}

}  // namespace

const std::vector<PpoField>& ppo_fields() {
  static const std::vector<PpoField> kFields = {
      word<&PpoSpec::algorithm>("algorithm", "what an iteration is"),
      size_of_model<&PpoSetup::critic_size>("critic_size",
                                            "a named shape; actor, the actor's, if not given"),
      size_of_model<&PpoSetup::reward_size>("reward_size",
                                            "a named shape, actor, or none: --reward-token scores"),
      reference_place(),
      integer<&PpoSetup::reward_token, 0>(
          "reward_token", "without a reward model: a score is the share of this token"),
      word<&PpoSetup::prompt_lengths>("prompt_lengths", "of the prompts"),
      integer<&PpoSpec::group_size, 1>("group_size", "responses to each prompt"),
      number<&PpoSpec::kl_coef>("kl_coef", "of the KL penalty, in rewards (ppo) or loss (grpo)"),
      word<&PpoSpec::kl_estimator>("kl_estimator", "of the penalty in the rewards"),
      number<&PpoSpec::gamma>("gamma", "discount of a token"),
      number<&PpoSpec::lambda>("lambda", "of generalized advantages"),
      on_off<&PpoSpec::whiten_advantages>("whiten_advantages", "to mean 0 and variance 1"),
      on_off<&PpoSpec::scale_by_group_std>("scale_by_group_std", "grpo: by a group's deviation"),
      number<&PpoSpec::clip>("clip", "of the ratio of probabilities, around 1"),
      number<&PpoSpec::value_clip>("value_clip", "of a value, around what it was; 0 = not"),
      number<&PpoSpec::value_coef>("value_coef", "of the critic's loss"),
      number<&PpoSpec::entropy_coef>("entropy_coef", "of the entropy bonus"),
      word<&PpoSpec::loss_agg_mode>("loss_agg_mode", "what a loss is of its tokens' losses"),
      integer<&PpoSpec::epochs, 1>("epochs", "times that every sequence is trained on"),
      integer<&PpoSpec::minibatches, 1>("minibatches", "updates in an epoch"),
      integer<&PpoSpec::max_tokens_per_micro_batch, 0>(
          "max_tokens_per_micro_batch",
          "prompt and response of the sequences that go through together; 0 = all"),
      integer<&PpoSpec::chunk_tokens, 1>("chunk_tokens", "tokens whose logits are there at once"),
      integer<&PpoSetup::iterations, 1>("iterations", "that are measured, after one that is not"),
      on_off<&PpoSetup::swap_phases>(
          "swap_phases", "models and states that a phase does not need are in host memory"),
      share_of_generation(),
      on_off<&PpoSetup::empty_cache_between_phases>(
          "empty_cache_between_phases",
          "what the allocator has cached goes back to the card before each phase")};
  return kFields;
}

}  // namespace headroom
