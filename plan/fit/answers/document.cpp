// The answers as one JSON document.
#include "plan/cost/fullest_ranks.h"
#include "plan/fit/answers/command_line.h"
#include "plan/fit/answers/drawing.h"
#include "plan/fit/answers/report.h"
#include "plan/fit/questions/capacity.h"
#include "plan/fit/questions/need.h"
#include "profiling/theory/peak.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

const char* word_of(Open open) {
  switch (open) {
    case Open::kBatch:
      return "batch_size";
    case Open::kContext:
      return "context_length";
    case Open::kNothing:
      break;
  }
  return "set";
}

// On a mesh: the figure of the rank that was fullest in the run, else by theory.
int64_t predicted_allocated(const FitFound& found, const RunSpec& spec, int64_t need,
                            const Record& record) {
  if (spec.mesh.ranks() == 1) return need;
  if (record.peak) return fullest_card(found, record).predicted;
  RunSpec plain = spec;
  plain.alloc_conf.clear();
  return has_predicted_peak(plain) ? predicted_fullest(plain).allocated : floor_bytes(spec);
}

ordered_json run_document(const FitFound& found, const RunSpec& spec, int64_t need,
                          const Verdict& verdict) {
  const HostNeed host = predicted_host_need(spec);
  ordered_json run = {{"command", profile_command(spec, host_limit_of_a_rank(found.question),
                                                  ranks_of(*verdict.record))},
                      {"predicted_bytes", predicted_allocated(found, spec, need, *verdict.record)},
                      {"predicted_host_bytes", host.bytes()},
                      {"predicted_host_pinned_bytes", host.pinned},
                      {"predicted_host_pageable_bytes", host.pageable},
                      {"status", to_string(verdict.record->status)},
                      {"reason", verdict.reason},
                      {"key", verdict.record->environment.value("key", "")}};
  if (!found.question.disk.empty()) run["predicted_disk_bytes"] = predicted_disk_bytes(spec);
  if (verdict.record->peak) {
    const FullestCard card = fullest_card(found, *verdict.record);
    run["peak_allocated_bytes"] = card.peak;
    run["peak_reserved_bytes"] = verdict.record->peak->reserved;
    if (card.rank) {
      run["fullest_rank"] = *card.rank;
      run["context_and_nccl_bytes"] = card.beside;
    }
  }
  return run;
}

ordered_json set_document(const TechniqueSet& set) {
  ordered_json document = {{"techniques", ordered_json::object()}, {"names", set.names}};
  for (const CostRow& row : cost_table()) {
    const int64_t level = set.cost.at(static_cast<size_t>(row.technique));
    if (level > 0) document["techniques"][row.key] = level;
  }
  if (set.mesh.empty()) return document;
  const RunSpec& spec = set.spec;
  document["mesh"] = {{"in_words", set.mesh},
                      {"pp", spec.mesh.size(MeshAxis::kPipeline)},
                      {"dp", spec.mesh.size(MeshAxis::kData)},
                      {"tp", spec.mesh.size(MeshAxis::kTensor)},
                      {"zero", spec.zero},
                      {"sequence_parallel", spec.sequence_parallel},
                      {"batch_size", spec.batch_size},
                      {"global_batch_size", global_batch(spec)}};
  return document;
}

ordered_json shortage_document(const Card& card, int64_t need, const Verdict& verdict) {
  if (verdict.of_host) return {{"host_short_by_bytes", verdict.host_excess}};
  return {{"short_by_bytes", need - capacity_of(card)}};
}

ordered_json answer_document(const FitFound& found, const FitAnswer& answer) {
  ordered_json document = set_document(answer.set);
  if (found.question.open == Open::kContext) document["context_length"] = answer.value;
  if (found.question.open == Open::kBatch) document["batch_size"] = answer.set.spec.batch_size;
  document.update(run_document(found, answer.set.spec, answer.need, answer.verdict));
  if (answer.verdict.fits == Fits::kYes) {
    document["margin_bytes"] = margin_of(found, answer);
  } else {
    document.update(shortage_document(found.card, answer.need, answer.verdict));
  }
  document["beyond"] = nullptr;
  if (answer.beyond) {
    document["beyond"] = {{"what", answer.beyond->what}};
    document["beyond"].update(
        run_document(found, answer.beyond->spec, answer.beyond->need, answer.beyond->verdict));
    document["beyond"].update(
        shortage_document(found.card, answer.beyond->need, answer.beyond->verdict));
  }
  return document;
}

// The open setting is null.
ordered_json asked_document(const FitQuestion& question) {
  ordered_json asked = {{"model_size", question.base.model_size},
                        {"batch_size", question.base.batch_size},
                        {"context_length", question.base.context_length}};
  if (question.open != Open::kNothing) asked[word_of(question.open)] = nullptr;
  if (question.meshes.gpus == 1) return asked;
  asked["gpus"] = question.meshes.gpus;
  if (question.meshes.global_batch > 0) {
    asked["batch_size"] = nullptr;
    asked["global_batch_size"] = question.meshes.global_batch;
  }
  return asked;
}

ordered_json card_document(const Card& card) {
  return {{"name", card.name},
          {"total_bytes", card.total_bytes},
          {"context_bytes", card.context_bytes},
          {"context_measured", card.context_measured}};
}

ordered_json questions_document(const Questions& questions) {
  return {{"needs", questions.needs},
          {"guesses", questions.guesses},
          {"fits", questions.fits},
          {"hosts", questions.hosts},
          {"cells", questions.cells}};
}

}  // namespace

std::string title_of(const FitFound& found) {
  return fit_title(asked_document(found.question), found.card.name);
}

ordered_json fit_document(const FitFound& found) {
  ordered_json document = {{"schema_version", 1},
                           {"question", word_of(found.question.open)},
                           {"asked", asked_document(found.question)},
                           {"card", card_document(found.card)},
                           {"host_limit_bytes", nullptr},
                           {"host_limit_of_a_rank_bytes", nullptr},
                           {"smaller_cards", ordered_json::array()},
                           {"sets", found.result.sets},
                           {"questions", questions_document(found.result.questions)},
                           {"cost_order", ordered_json::array()},
                           {"interrupted", found.result.stopped},
                           {"notes", found.result.notes},
                           {"answers", ordered_json::array()},
                           {"nearest", nullptr}};
  if (found.question.host_limit) {
    document["host_limit_bytes"] = *found.question.host_limit;
    document["host_limit_of_a_rank_bytes"] = *host_limit_of_a_rank(found.question);
  }
  for (size_t i = 0; i < found.smaller.size(); ++i) {
    ordered_json smaller = card_document(found.smaller[i]);
    FitFound there = found;
    there.card = found.smaller[i];
    smaller["nearest"] = answer_document(there, *found.of_smaller[i].nearest);
    document["smaller_cards"].push_back(std::move(smaller));
  }
  for (const Technique technique : found.question.order.dearest_first()) {
    if (!may_use(searcher(found.question), row_of(technique))) continue;
    document["cost_order"].push_back(row_of(technique).key);
  }
  for (const FitAnswer& answer : found.result.answers) {
    document["answers"].push_back(answer_document(found, answer));
  }
  if (found.result.nearest) document["nearest"] = answer_document(found, *found.result.nearest);
  return document;
}

}  // namespace headroom
