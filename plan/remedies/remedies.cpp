#include "plan/remedies/remedies.h"

#include <algorithm>

#include "bench/launch/ppo_card.h"
#include "bench/process/interrupt.h"
#include "text/quantity.h"
#include "train/generate/rules.h"
#include "train/ppo/phase_names.h"

namespace headroom {
namespace {

const PpoField* ppo_field(const std::string& name) {
  for (const PpoField& field : ppo_fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

struct Request {
  RunSpec shared;
  PpoSetup setup;
};

void set(Request& request, const std::string& name, const std::string& value) {
  if (const PpoField* field = ppo_field(name))
    return field->set(field->flag(), request.setup, value);
  for (const RoleField& one : role_fields()) {
    if (one.name() == name) {
      request.setup.of_role[one.role][one.field->name] = value;
      return;
    }
  }
  find_field(name)->set(request.shared, value);
}

// nullopt where it changes nothing, or where the set-up does not allow it.
std::optional<Request> with(const RunSpec& shared, const PpoSetup& setup, const Remedy& remedy) {
  Request request{shared, setup};
  try {
    for (const auto& [name, value] : remedy) set(request, name, value);
    validate(request.shared, request.setup);
    settle_on_card(request.shared, request.setup);
  } catch (const UsageError&) {
    return std::nullopt;
  }
  const bool changes =
      to_json(request.shared) != to_json(shared) || to_json(request.setup) != to_json(setup);
  return changes ? std::optional(std::move(request)) : std::nullopt;
}

// What takes what, in the settings of this run.
struct Candidates {
  const RunSpec& shared;
  const PpoSetup& setup;

  Remedy swap() const { return {{"swap_phases", "true"}}; }
  Remedy checkpoint() const { return {{"checkpoint", "full"}}; }
  Remedy activations() const { return {{"activations", "offload"}}; }
  Remedy reference() const {
    const bool there = setup.reference == ReferencePlace::kResident;
    return there ? Remedy{{"reference", "offload"}} : Remedy{};
  }
  Remedy reward() const {
    return setup.reward_size == "none" ? Remedy{} : Remedy{{"reward_param_offload", "cpu"}};
  }
  Remedy optimizer() const { return {{"optimizer_offload", "cpu"}}; }
  Remedy parameters() const { return {{"optimizer_offload", "cpu"}, {"param_offload", "cpu"}}; }
  Remedy states_of_8_bits() const { return {{"optimizer", "adam8bit"}}; }
  Remedy cache_of_8_bits() const { return {{"kv_cache_dtype", "fp8"}}; }
  // One sequence at a time.
  Remedy micro_batches() const {
    const int64_t one = sequence_tokens(shared);
    const int64_t now = setup.ppo.max_tokens_per_micro_batch;
    const bool smaller = now == 0 ? shared.batch_size > 1 : now > one;
    return smaller ? Remedy{{"max_tokens_per_micro_batch", std::to_string(one)}} : Remedy{};
  }
  Remedy logits() const {
    constexpr int64_t kFew = 128;
    return setup.ppo.chunk_tokens > kFew ? Remedy{{"chunk_tokens", std::to_string(kFew)}}
                                         : Remedy{};
  }
  Remedy prefill() const {
    const int64_t prompt = prompt_tokens(shared);
    const int64_t now = shared.prefill_chunk;
    const bool smaller = now == 0 ? shared.batch_size > 1 : now > prompt;
    return smaller ? Remedy{{"prefill_chunk", std::to_string(prompt)}} : Remedy{};
  }
  // Half of it, in whole sequences.
  Remedy cache() const {
    RunSpec spec = shared;
    spec.profile_type = Mode::kGenerate;
    const KvCacheShape now = kv_cache_shape(spec);
    const int64_t half = now.at_once() / 2;
    if (half == 0) return {};
    if (setup.gpu_memory_utilization > 0) {
      return {{"gpu_memory_utilization", number_text(setup.gpu_memory_utilization / 2, 3)}};
    }
    const int64_t tokens = now.form == KvCacheForm::kPaged
                               ? half * now.blocks_of_a_sequence() * kKvCacheBlock
                               : half * now.tokens;
    return {{"kv_cache_tokens", std::to_string(tokens)}};
  }

  std::vector<Remedy> in(const OutOfMemory& moment) const {
    if (moment.phase.starts_with(kGenerationPhase)) {
      return {swap(),   prefill(),   cache(),      reference(),
              reward(), optimizer(), parameters(), cache_of_8_bits()};
    }
    if (moment.phase.starts_with(kScoringPhase)) {
      return {micro_batches(), swap(),      logits(),     reference(),
              reward(),        optimizer(), parameters(), states_of_8_bits()};
    }
    if (moment.phase.starts_with(kTrainingPhase)) {
      return {swap(),        checkpoint(), micro_batches(), logits(),          reference(),
              activations(), optimizer(),  parameters(),    states_of_8_bits()};
    }
    return {swap(), reference(), reward(), optimizer(), parameters()};  // while models are built
  }
};

Remedy joined(Remedy one, const Remedy& more) {
  for (const auto& setting : more) {
    if (std::find(one.begin(), one.end(), setting) == one.end()) one.push_back(setting);
  }
  return one;
}

std::string outcome(const Record& record) {
  if (record.status == Status::kOk) return "runs";
  std::string text = to_string(record.status);
  if (!record.out_of_memory) return text + (record.reason.empty() ? "" : ": " + record.reason);
  const std::string& phase = record.out_of_memory->phase;
  return text + " in " + (phase.empty() ? record.out_of_memory->during : phase);
}

std::string peak_text(const Record& record) {
  return record.peak ? format_bytes(record.peak->allocated) + " allocated, " +
                           format_bytes(record.peak->reserved) + " reserved"
                     : "";
}

TriedRemedy run(const Remedy& remedy, Request request, CellOptions options) {
  request.shared.snapshot.clear();
  request.shared.record_steps = 0;
  request.setup.iterations = 1;
  options.ppo = request.setup;
  return {remedy, run_cell(request.shared, options)};
}

}  // namespace

std::string flags_of(const Remedy& remedy) {
  std::string text;
  for (const auto& [name, value] : remedy) {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    text += (text.empty() ? "" : " ") + flag;
    if (value != "true") text += " " + value;
  }
  return text;
}

std::vector<Remedy> remedies_for(const RunSpec& shared, const PpoSetup& setup,
                                 const OutOfMemory& moment) {
  std::vector<Remedy> alone;
  for (const Remedy& remedy : Candidates{shared, setup}.in(moment)) {
    if (!remedy.empty() && with(shared, setup, remedy)) alone.push_back(remedy);
  }
  std::vector<Remedy> all = alone;
  Remedy together;
  for (const Remedy& remedy : alone) {
    const Remedy more = joined(together, remedy);
    if (more == together || !with(shared, setup, more)) continue;
    together = more;
    if (std::find(all.begin(), all.end(), together) == all.end()) all.push_back(together);
  }
  return all;
}

namespace {

// Tries one more. False where the trials are to end.
bool try_one(const Record& refused, const CellOptions& options, const Remedy& remedy,
             const std::function<void(const std::string&)>& on_line,
             std::vector<TriedRemedy>& tried) {
  auto request = with(refused.spec, *options.ppo, remedy);
  if (!request) return true;
  TriedRemedy made = run(remedy, std::move(*request), options);
  if (interrupted()) return false;
  on_line("tried " + flags_of(remedy) + ": " + outcome(made.record));
  tried.push_back(std::move(made));
  return true;
}

// Of several settings together that run: whether it runs without each of them in turn.
void leave_out_what_is_not_needed(const Record& refused, const CellOptions& options,
                                  const std::function<void(const std::string&)>& on_line,
                                  std::vector<TriedRemedy>& tried) {
  TriedRemedy best = tried.back();
  for (const auto& setting : Remedy(best.remedy)) {
    Remedy fewer = best.remedy;
    std::erase(fewer, setting);
    const bool known = std::any_of(tried.begin(), tried.end(),
                                   [&](const TriedRemedy& one) { return one.remedy == fewer; });
    if (fewer.empty() || known) continue;
    if (!try_one(refused, options, fewer, on_line, tried)) break;
    if (tried.back().runs()) best = tried.back();
  }
  if (tried.back().remedy == best.remedy) return;
  std::erase_if(tried, [&](const TriedRemedy& one) { return one.remedy == best.remedy; });
  tried.push_back(std::move(best));  // the answer comes last
}

}  // namespace

std::vector<TriedRemedy> try_remedies(const Record& refused, const CellOptions& options,
                                      const std::function<void(const std::string&)>& on_line) {
  std::vector<TriedRemedy> tried;
  if (!refused.out_of_memory || !options.ppo) return tried;
  CellOptions quiet = options;
  quiet.on_talk = nullptr;
  for (const Remedy& remedy : remedies_for(refused.spec, *options.ppo, *refused.out_of_memory)) {
    if (!try_one(refused, quiet, remedy, on_line, tried)) return tried;
    if (!tried.back().runs()) continue;
    leave_out_what_is_not_needed(refused, quiet, on_line, tried);
    break;
  }
  return tried;
}

std::string conclusion(const std::vector<TriedRemedy>& tried) {
  if (tried.empty()) return "nothing was tried that would avoid it";
  const TriedRemedy& last = tried.back();
  if (last.runs()) {
    return "it runs with " + flags_of(last.remedy) + ", tried: peak " + peak_text(last.record);
  }
  return "none of " + std::to_string(tried.size()) +
         " settings tried avoids it, the last of them " + flags_of(last.remedy);
}

Table remedies_table(const std::vector<TriedRemedy>& tried) {
  Table table{
      .title = "What would avoid it, tried",
      .columns = {{"with"}, {"outcome"}, {"peak allocated", true}, {"peak reserved", true}}};
  for (const TriedRemedy& one : tried) {
    const std::optional<MemoryBytes>& peak = one.record.peak;
    table.rows.push_back({flags_of(one.remedy), outcome(one.record),
                          peak ? format_bytes(peak->allocated) : "",
                          peak ? format_bytes(peak->reserved) : ""});
  }
  return table;
}

}  // namespace headroom
