#include "train/resume/load_checkpoint.h"

#include <map>
#include <set>

#include "files/directory.h"
#include "text/quantity.h"
#include "train/data/safetensors.h"
#include "train/optim/optimizer.h"
#include "train/resume/checkpoint_directory.h"
#include "train/resume/checkpoint_index.h"
#include "train/resume/own_tensors.h"
#include "train/resume/whole_checkpoint.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr const char* kExample = "--load-checkpoint checkpoints";

torch::Dtype dtype_of(const std::string& word) {
  if (word == "BF16") return torch::kBFloat16;
  return word == "U8" ? torch::kByte : torch::kFloat32;
}

// The rows and columns `part` of a tensor that covers `place`.
Tensor view_of(Tensor tensor, const Rectangle& place, const Rectangle& part) {
  for (size_t i = 0; i < part.sizes.size(); ++i) {
    tensor =
        tensor.narrow(static_cast<int64_t>(i), part.offsets[i] - place.offsets[i], part.sizes[i]);
  }
  return tensor;
}

// The files of a checkpoint, each mapped at its first use.
class Reader {
 public:
  Reader(std::string checkpoint, const CheckpointIndex& index)
      : checkpoint_(std::move(checkpoint)), index_(index) {}

  void fill(const OwnTensor& own) {
    const auto found = index_.tensors.find(own.name);
    if (found == index_.tensors.end()) refuse("does not contain " + own.name);
    const CheckpointIndex::Stored& stored = found->second;
    const std::string dtype = safetensors_dtype(own.tensor.scalar_type());
    if (stored.dtype != dtype) {
      refuse("has " + own.name + " as " + stored.dtype + ", and this run uses " + dtype);
    }
    if (stored.shape != own.shape) {
      refuse("has " + own.name + " of shape " + in_words(whole_of(stored.shape)) +
             ", and this run's is " + in_words(whole_of(own.shape)));
    }
    int64_t begin = 0;
    for (const Rectangle& part : own.parts) {
      const int64_t count = part.numel();
      fill(own.tensor.view({-1}).narrow(0, begin, count).view(part.sizes), part, stored, own.name);
      begin += count;
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw UsageError("--load-checkpoint", checkpoint_, problem, kExample);
  }

  void fill(const Tensor& values, const Rectangle& place, const CheckpointIndex::Stored& stored,
            const std::string& name) {
    int64_t missing = place.numel();
    for (const auto& piece : stored.pieces) {
      const auto shared = overlap(place, piece.place);
      if (!shared) continue;
      view_of(values, place, *shared).copy_(view_of(read(piece, stored), piece.place, *shared));
      missing -= shared->numel();
    }
    if (missing != 0) {
      refuse_damaged(checkpoint_,
                     "is damaged: its pieces of " + name + " are not the whole tensor tensor");
    }
  }

  Tensor read(const CheckpointIndex::Piece& piece, const CheckpointIndex::Stored& stored) {
    const auto [file, is_new] = files_.try_emplace(piece.file);
    if (is_new) {
      file->second =
          std::make_unique<SafetensorsFile>(in_directory(checkpoint_, piece.file), kExample);
    }
    if (checked_.insert(piece.key).second) {
      const std::string damage = damage_of(piece, stored, *file->second);
      if (!damage.empty()) refuse_damaged(checkpoint_, damage);
    }
    const SafetensorsEntry& entry = file->second->entries().at(piece.key);
    // from_blob needs a mutable pointer; the memory is only read.
    return torch::from_blob(const_cast<void*>(entry.data), entry.shape, dtype_of(stored.dtype));
  }

  std::string checkpoint_;
  const CheckpointIndex& index_;
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_;
  std::set<std::string> checked_;  // pieces
};

// Sets parameters from their FP32 masters, if the optimizer has them, rounded.
void parameters_from_masters(const Optimizer& optimizer) {
  const std::vector<Tensor> masters = optimizer.master_weights();
  for (size_t i = 0; i < masters.size(); ++i) {
    Tensor parameter = optimizer.parameters()[i];
    parameter.copy_(masters[i]);
  }
}

}  // namespace

int64_t load_checkpoint(Step& step, const RunSpec& spec, const DeviceMesh* device_mesh,
                        std::vector<std::string>* notes) {
  const torch::NoGradGuard no_grad;
  // The same for all ranks, even if others write there.
  std::string checkpoint;
  if (device_mesh == nullptr || device_mesh->rank() == 0) {
    checkpoint = newest_checkpoint(spec.load_checkpoint, notes);
  }
  if (device_mesh != nullptr) checkpoint = device_mesh->of_first(checkpoint);
  const CheckpointIndex index = read_index(checkpoint);
  for (const std::string& note : check_same_run(checkpoint, index, spec)) notes->push_back(note);
  notes->push_back("resuming from step " + std::to_string(index.step) + " of " + checkpoint);
  if (!index.has_sums) {
    notes->push_back(checkpoint + " was saved without checksums: its data cannot be verified");
  }
  const std::vector<Optimizer*> optimizers = step.update->optimizers();
  for (Optimizer* optimizer : optimizers) {
    if (index.updates > 0) optimizer->resume(index.updates);
  }
  Reader reader(checkpoint, index);
  for (const OwnTensor& own : own_tensors(step, spec, device_mesh)) reader.fill(own);
  for (const Optimizer* optimizer : optimizers) parameters_from_masters(*optimizer);
  step.hooks.end_update();
  if (step.update->loss_scaler && index.loss_scale) {
    step.update->loss_scaler->resume(index.loss_scale->scale, index.loss_scale->finite_steps);
  }
  return index.step;
}

}  // namespace headroom
