#include "profiling/theory/rehearsal/techniques/saved.h"

#include <utility>

#include "profiling/theory/rehearsal/run.h"

namespace headroom {

RehearsedSaving::RehearsedSaving(Run& run, SavedShapes* saves)
    : run_(run), outer_(std::exchange(run.saving, saves)) {}

RehearsedSaving::~RehearsedSaving() { run_.saving = outer_; }

Saved::Saved(const ShapeTensor& tensor) {
  SavedShapes* const saves = tensor.run->saving;
  if (saves != nullptr && saves->takes(tensor)) packed_ = saves->pack(tensor.detach());
  if (!packed_) tensor_ = tensor.detach();
}

Saved save_input(const ShapeTensor& tensor) {
  SavedShapes* const saves = tensor.run->saving;
  Saved saved;
  if (saves != nullptr && saves->takes_inputs()) saved.packed_ = saves->pack(tensor.detach());
  if (!saved.packed_) saved.tensor_ = tensor.detach();
  return saved;
}

}  // namespace headroom
