#include "plan/fit/meshes/meshes.h"

#include <algorithm>

#include "plan/cost/layout.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kMostZero = 3;

// Meshes of that many GPUs; for each pp most replicas first.
std::vector<Mesh> meshes_of(const ModelConfig& config, int64_t gpus) {
  std::vector<Mesh> meshes;
  for (int64_t pp = 1; pp <= std::min(gpus, config.layers); ++pp) {
    for (int64_t tp = 1; tp <= std::min(gpus / pp, kGpusPerNode); ++tp) {
      if (gpus % (pp * tp) != 0 || !tp_divides(config, tp)) continue;
      meshes.push_back({.sizes = {pp, gpus / (pp * tp), tp}});
    }
  }
  return meshes;
}

class MeshRuns {
 public:
  MeshRuns(const RunSpec& base, const MeshQuestion& question, std::string* refused)
      : base_(base), question_(question), refused_(refused) {}

  std::vector<MeshRun> all() {
    const std::vector<Mesh> meshes = question_.keeps_mesh
                                         ? std::vector<Mesh>{base_.mesh}
                                         : meshes_of(model_config(base_), question_.gpus);
    for (const Mesh& mesh : meshes) add(mesh);
    return std::move(runs_);
  }

 private:
  bool may(Technique technique) const {
    const auto& allowed = question_.techniques;
    return std::find(allowed.begin(), allowed.end(), technique) != allowed.end();
  }

  void refuse(const Mesh& mesh, const std::string& why) {
    if (refused_ != nullptr) *refused_ = to_string(mesh) + " " + why;
  }

  void add(const Mesh& mesh) {
    const int64_t replicas = mesh.size(MeshAxis::kData);
    if (!question_.keeps_mesh) {
      if (mesh.size(MeshAxis::kPipeline) > 1 && !may(Technique::kPipeline)) return;
      if (mesh.size(MeshAxis::kTensor) > 1 && !may(Technique::kTensorParallel)) return;
    }
    RunSpec spec = base_;
    spec.mesh = mesh;
    if (question_.global_batch > 0) {
      if (question_.global_batch % replicas != 0) {
        return refuse(mesh, "does not divide the global batch");
      }
      spec.batch_size = question_.global_batch / replicas;
    }
    if (question_.batch_is_open) {
      spec.micro_batches = mesh.size(MeshAxis::kPipeline);
      spec.batch_size = kAnyStride * spec.micro_batches;
    }
    if (spec.batch_size < mesh.size(MeshAxis::kPipeline)) {
      return refuse(mesh, "has more stages than a replica has sequences");
    }
    const int64_t tp = mesh.size(MeshAxis::kTensor);
    if (question_.context_is_open) spec.context_length = kAnyStride * tp;
    if (!question_.keeps_token_split) {
      spec.sequence_parallel = tp > 1 && spec.context_length % tp == 0;
    }
    if (question_.keeps_zero) return add(spec);
    for (spec.zero = 0; spec.zero <= (replicas > 1 ? kMostZero : 0); ++spec.zero) {
      const Technique technique = spec.zero == kMostZero ? Technique::kZero3 : Technique::kZero12;
      if (spec.zero == 0 || may(technique)) add(spec);
    }
  }

  void add(const RunSpec& spec) {
    try {
      validate(spec);
    } catch (const UsageError& error) {
      if (refused_ != nullptr) *refused_ = error.what();
      return;
    }
    MeshRun run{.spec = spec, .cost = {}, .words = to_string(spec.mesh)};
    // Given settings cost nothing: no alternative is searched.
    const Mesh& mesh = spec.mesh;
    add_mesh(run.cost, question_.keeps_mesh ? 1 : mesh.size(MeshAxis::kTensor),
             question_.keeps_mesh ? 1 : mesh.size(MeshAxis::kPipeline),
             question_.keeps_zero ? 0 : spec.zero);
    if (spec.zero > 0) run.words += ", ZeRO-" + std::to_string(spec.zero);
    runs_.push_back(std::move(run));
  }

  const RunSpec& base_;
  const MeshQuestion& question_;
  std::string* refused_;
  std::vector<MeshRun> runs_;
};

}  // namespace

std::vector<MeshRun> mesh_runs(const RunSpec& base, const MeshQuestion& question,
                               std::string* refused) {
  return MeshRuns(base, question, refused).all();
}

}  // namespace headroom
