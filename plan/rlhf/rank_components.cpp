#include "plan/rlhf/rank_components.h"

namespace headroom {

RankComponents::RankComponents(const RlhfSpec& spec, const RlhfModels& models, int64_t stage)
    : spec_(spec), models_(models) {
  memory_.stage = stage;
  for (const RlhfPhase phase : phases_of(spec)) memory_.phases |= bit(phase);
}

void RankComponents::add(Component component) {
  component.needed &= memory_.phases;
  if (component.bytes > 0 && component.needed != 0) memory_.components.push_back(component);
}

StageElements RankComponents::elements_here(const Model& model) const {
  return stage_elements(model.elements, layout(), stage());
}

int64_t RankComponents::on_rank(const Model& model, const Extent& extent) const {
  return extent.on_rank(layout(), model.elements.config.vocab_size);
}

int64_t RankComponents::sharded(int64_t elements, int64_t from_zero_stage) const {
  return of_replica(layout(), elements, from_zero_stage);
}

int64_t RankComponents::casts_of(const Model& model, Extent weights) const {
  if (layout().zero >= 3) return 0;  // gathered in low precision
  weights.whole = 0;                 // norms enter no matrix product
  return spec_.precision.cast * on_rank(model, weights);
}

int64_t RankComponents::block_casts(const Model& model) const {
  return casts_of(model, model.elements.block);
}

int64_t RankComponents::head_casts(const Model& model) const {
  return last_stage() ? casts_of(model, model.elements.final) : 0;
}

std::vector<const RankComponents::Model*> RankComponents::trained() const {
  std::vector<const Model*> models = {&models_.actor};
  if (models_.critic) models.push_back(&*models_.critic);
  return models;
}

std::vector<const RankComponents::Model*> RankComponents::all() const {
  std::vector<const Model*> models = trained();
  if (models_.reward) models.push_back(&*models_.reward);
  return models;
}

RankMemory stage_memory(const RlhfSpec& spec, const RlhfModels& models, int64_t stage) {
  RankComponents rank(spec, models, stage);
  add_states(rank);
  add_activities(rank);
  return rank.take();
}

}  // namespace headroom
