#include "train/parallel/rules.h"

#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kZeroExample = "--mesh dp=2 --zero 1";

void check_zero(const RunSpec& spec) {
  const std::string zero = std::to_string(spec.zero);
  if (spec.reshard_after_forward != Reshard::kAlways && spec.zero < 3) {
    throw UsageError(
        "--reshard-after-forward", word_of(spec.reshard_after_forward),
        "applies to gathered weights, and --zero " + zero + " gathers none; allowed there: always",
        "--mesh dp=2 --zero 3 --reshard-after-forward never");
  }
  if (spec.zero == 0) return;
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--zero", zero, problem, kZeroExample);
  };
  if (spec.mesh.size(MeshAxis::kData) == 1) {
    refuse("shards states over replicas, and --mesh " + to_string(spec.mesh) +
           " has one; allowed there: 0");
  }
  if (spec.optimizer == OptimizerKind::kAdamMini) {
    refuse(
        "splits tensors at any element, and --optimizer adam-mini needs whole rows; allowed with "
        "it: 0");
  }
  if (spec.optimizer == OptimizerKind::kMuon) {
    refuse(
        "splits tensors at any element, and --optimizer muon needs whole matrices; allowed with "
        "it: 0");
  }
}

void check_shard_group(const RunSpec& spec) {
  if (spec.shard_group == 0) return;
  const int64_t dp = spec.mesh.size(MeshAxis::kData);
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--shard-group", std::to_string(spec.shard_group), problem,
                     "--mesh dp=4 --zero 3 --shard-group 2");
  };
  if (spec.zero == 0) {
    refuse("is the size of a sharding group, and --zero 0 shards nothing; allowed there: 0");
  }
  if (spec.shard_group == 1 || dp % spec.shard_group != 0) {
    refuse("does not divide dp=" + std::to_string(dp) +
           " into sharding groups; allowed there: 0 (one group), or its divisors from 2");
  }
}

void check_prefetch(const RunSpec& spec) {
  if (spec.prefetch == 1 || spec.zero == 3) return;
  throw UsageError("--prefetch", std::to_string(spec.prefetch),
                   "applies to gathered weights, and --zero " + std::to_string(spec.zero) +
                       " gathers none; allowed there: 1",
                   "--mesh dp=2 --zero 3 --prefetch " + std::to_string(spec.prefetch));
}

void check_sequence_parallel(const RunSpec& spec) {
  if (!spec.sequence_parallel) return;
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--sequence-parallel", "true", problem, "--mesh tp=2 --sequence-parallel");
  };
  const int64_t tp = spec.mesh.size(MeshAxis::kTensor);
  if (tp == 1)
    refuse("splits tokens over tensor-parallel ranks, and --mesh has none; allowed: with tp");
  if (spec.context_length % tp != 0) {
    refuse("splits --context-length " + std::to_string(spec.context_length) +
           " over tp=" + std::to_string(tp) + "; allowed: tp that divides the context");
  }
}

void check_tensor_parallel(const RunSpec& spec) {
  const int64_t tp = spec.mesh.size(MeshAxis::kTensor);
  if (tp == 1) return;
  const ModelConfig config = model_config(spec);
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--mesh", to_string(spec.mesh), problem, "--mesh tp=2");
  };
  if (config.kv_heads % tp != 0 || config.d_ff % tp != 0) {
    refuse("splits heads and feed-forward over ranks, and tp=" + std::to_string(tp) +
           " does not divide the " + std::to_string(config.kv_heads) +
           " key/value heads and d_ff " + std::to_string(config.d_ff) + " of " + config.name +
           "; allowed: tp that divides both");
  }
  constexpr int64_t kFp8Unit = 16;  // elements; every side of an FP8 product is a multiple
  for (const int64_t width : {config.d_model, config.q_dim(), config.kv_dim(), config.d_ff}) {
    if (spec.precision != Precision::kFp8 || width / tp % kFp8Unit == 0) continue;
    refuse("splits a width of " + std::to_string(width) + " into parts of " +
           std::to_string(width / tp) + ", and --precision fp8 needs multiples of " +
           std::to_string(kFp8Unit) + "; allowed with it: tp that makes such parts");
  }
  if (tp > config.vocab_size)
    refuse("has more tensor-parallel ranks than the vocabulary has tokens");
  if (spec.optimizer == OptimizerKind::kAdamMini) {
    refuse("splits matrices, and --optimizer adam-mini needs whole rows; allowed with it: tp=1");
  }
  if (spec.optimizer == OptimizerKind::kMuon) {
    refuse("splits matrices, and --optimizer muon needs whole ones; allowed with it: tp=1");
  }
}

void check_pipeline(const RunSpec& spec) {
  const int64_t pp = spec.mesh.size(MeshAxis::kPipeline);
  const std::string schedule = to_string(spec.schedule);
  const std::string micro_batches = std::to_string(spec.micro_batches);
  if (pp == 1) {
    if (spec.schedule == PipelineOrder()) return;
    throw UsageError("--schedule", schedule,
                     "orders pipeline stages, and --mesh has one stage; allowed there: 1f1b",
                     "--mesh pp=2 --schedule " + schedule);
  }
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--mesh", to_string(spec.mesh), problem,
                     "--mesh pp=2 --batch-size 4 --micro-batches 4");
  };
  const int64_t pieces = pp * spec.schedule.chunks;
  const int64_t layers = model_config(spec).layers;
  if (spec.tied_embeddings) {
    throw UsageError("--mesh", to_string(spec.mesh),
                     "has the token table on the first stage and the head on the last, and "
                     "--tied-embeddings makes them one parameter; allowed there: dp, tp",
                     "--mesh dp=2,tp=2 --tied-embeddings");
  }
  if (pieces > layers) {
    refuse("splits the model into " + std::to_string(pieces) + " pieces, and it has " +
           std::to_string(layers) + " layers; allowed: at most one piece per layer");
  }
  if (!has_backward(spec.profile_type)) {
    refuse("runs forward and backward in turn, and --profile-type " + to_string(spec.profile_type) +
           " has no backward; allowed: with training, forward-backward");
  }
  if (spec.schedule.kind != ScheduleKind::kInterleaved) return;
  if (spec.micro_batches % pp != 0) {
    throw UsageError("--schedule", schedule,
                     "needs a multiple of pp micro-batches, and --micro-batches " + micro_batches +
                         " is no multiple of pp=" + std::to_string(pp) +
                         "; allowed there: 1f1b, gpipe",
                     "--mesh pp=2 --micro-batches 4 --schedule interleaved:2");
  }
}

void check_mesh_param_offload(const RunSpec& spec) {
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--param-offload", to_string(spec.param_offload), problem,
                     "--mesh tp=2 --param-offload cpu --optimizer-offload cpu");
  };
  if (spec.param_offload.space == MemorySpace::kDisk) {
    refuse("keeps the weights of one rank, and --mesh " + to_string(spec.mesh) +
           " has several ranks; allowed there: none, cpu");
  }
  if (spec.zero > 0) {
    refuse("moves blocks that --zero " + std::to_string(spec.zero) +
           " keeps in flat tensors on the device; allowed with it: none");
  }
}

// Checks features that handle gradients or parameters in their own way.
void check_others(const RunSpec& spec) {
  const auto refuse = [&](const std::string& flag) {
    throw UsageError("--mesh", to_string(spec.mesh),
                     "does not run with " + flag + "; allowed with it: none",
                     "--mesh none " + flag);
  };
  if (spec.param_offload.any()) check_mesh_param_offload(spec);
  if (spec.optimizer_offload.space == MemorySpace::kDisk) {
    throw UsageError("--optimizer-offload", to_string(spec.optimizer_offload),
                     "keeps the states of one rank, and --mesh " + to_string(spec.mesh) +
                         " has several ranks; allowed there: none, cpu",
                     "--mesh dp=2 --optimizer-offload cpu");
  }
  if (spec.optimizer_offload.any() && spec.shard_group > 0) {
    throw UsageError("--shard-group", std::to_string(spec.shard_group),
                     "sums gradients over groups at the end of a step, and --optimizer-offload " +
                         to_string(spec.optimizer_offload) +
                         " takes them before; allowed with it: 0",
                     "--mesh dp=4 --zero 1 --optimizer-offload cpu");
  }
  if (spec.release_gradients && spec.mesh.size(MeshAxis::kData) > 1) {
    throw UsageError("--release-gradients", "true",
                     "updates inside backward, before --mesh " + to_string(spec.mesh) +
                         " has summed a gradient over replicas; allowed with it: dp=1",
                     "--mesh tp=2 --release-gradients");
  }
  if (spec.profile_type == Mode::kGenerate) refuse("--profile-type generate");
}

}  // namespace

void check_mesh(const RunSpec& spec) {
  check_zero(spec);
  check_shard_group(spec);
  check_prefetch(spec);
  check_sequence_parallel(spec);
  check_tensor_parallel(spec);
  check_pipeline(spec);
  if (spec.mesh.ranks() == 1) return;
  check_others(spec);
}

}  // namespace headroom
