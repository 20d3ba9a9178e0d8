#include "train/parallel/rules.h"

#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kZeroExample = "--mesh dp=2 --zero 1";

void check_zero(const RunSpec& spec) {
  const std::string zero = std::to_string(spec.zero);
  if (spec.reshard_after_forward != Reshard::kAlways && spec.zero < 3) {
    throw UsageError("--reshard-after-forward", word_of(spec.reshard_after_forward),
                     "is about weights that are gathered, which --zero " + zero +
                         " leaves where they are; allowed there: always",
                     "--mesh dp=2 --zero 3 --reshard-after-forward never");
  }
  if (spec.zero == 0) return;
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--zero", zero, problem, kZeroExample);
  };
  if (spec.mesh.size(MeshAxis::kData) == 1) {
    refuse("shares what replicas have, and --mesh " + to_string(spec.mesh) +
           " has one; allowed there: 0");
  }
  if (spec.optimizer == OptimizerKind::kAdamMini) {
    refuse(
        "cuts tensors anywhere, and --optimizer adam-mini goes by their rows; allowed with it: 0");
  }
  if (spec.optimizer == OptimizerKind::kMuon) {
    refuse("cuts tensors anywhere, and --optimizer muon takes whole matrices; allowed with it: 0");
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
    refuse("is how many replicas share, and with --zero 0 they share nothing; allowed there: 0");
  }
  if (spec.shard_group == 1 || dp % spec.shard_group != 0) {
    refuse("makes no groups of replicas that share out of dp=" + std::to_string(dp) +
           "; allowed there: 0 (all share), or numbers from 2 that divide it");
  }
}

void check_prefetch(const RunSpec& spec) {
  if (spec.prefetch == 1 || spec.zero == 3) return;
  throw UsageError("--prefetch", std::to_string(spec.prefetch),
                   "is about weights that are gathered, which --zero " + std::to_string(spec.zero) +
                       " leaves where they are; allowed there: 1",
                   "--mesh dp=2 --zero 3 --prefetch " + std::to_string(spec.prefetch));
}

void check_sequence_parallel(const RunSpec& spec) {
  if (!spec.sequence_parallel) return;
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--sequence-parallel", "true", problem, "--mesh tp=2 --sequence-parallel");
  };
  const int64_t tp = spec.mesh.size(MeshAxis::kTensor);
  if (tp == 1) refuse("splits what ranks of tp share, and --mesh has none; allowed: with tp");
  if (spec.context_length % tp != 0) {
    refuse("cuts --context-length " + std::to_string(spec.context_length) +
           " into parts for tp=" + std::to_string(tp) + "; allowed: where that divides it");
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
    refuse("gives each rank its part of heads and feed-forward, and tp=" + std::to_string(tp) +
           " does not divide the " + std::to_string(config.kv_heads) +
           " key/value heads and d_ff " + std::to_string(config.d_ff) + " of " + config.name +
           "; allowed: tp that divides both");
  }
  constexpr int64_t kFp8Unit = 16;  // elements; every side of an FP8 product is a multiple
  for (const int64_t width : {config.d_model, config.kv_dim(), config.d_ff}) {
    if (spec.precision != Precision::kFp8 || width / tp % kFp8Unit == 0) continue;
    refuse("cuts a width of " + std::to_string(width) + " into parts of " +
           std::to_string(width / tp) + ", and --precision fp8 takes multiples of " +
           std::to_string(kFp8Unit) + "; allowed with it: tp that leaves such parts");
  }
  if (tp > config.vocab_size) refuse("has more ranks for the vocabulary than it has tokens");
  if (spec.optimizer == OptimizerKind::kAdamMini) {
    refuse("cuts matrices that --optimizer adam-mini goes by the rows of; allowed with it: tp=1");
  }
  if (spec.optimizer == OptimizerKind::kMuon) {
    refuse("cuts matrices that --optimizer muon takes whole; allowed with it: tp=1");
  }
}

void check_pipeline(const RunSpec& spec) {
  const int64_t pp = spec.mesh.size(MeshAxis::kPipeline);
  const std::string schedule = to_string(spec.schedule);
  const std::string micro_batches = std::to_string(spec.micro_batches);
  if (pp == 1) {
    if (spec.schedule == PipelineOrder()) return;
    throw UsageError("--schedule", schedule,
                     "is an order of pipeline stages, and --mesh has one; allowed there: 1f1b",
                     "--mesh pp=2 --schedule " + schedule);
  }
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--mesh", to_string(spec.mesh), problem,
                     "--mesh pp=2 --batch-size 4 --micro-batches 4");
  };
  const int64_t pieces = pp * spec.schedule.chunks;
  const int64_t layers = model_config(spec).layers;
  if (pieces > layers) {
    refuse("cuts the model into " + std::to_string(pieces) + " pieces, and it has " +
           std::to_string(layers) + " layers; allowed: at most one piece for each");
  }
  if (!has_backward(spec.profile_type)) {
    refuse("runs forward and backward in turn, and --profile-type " + to_string(spec.profile_type) +
           " has no backward; allowed: with training, forward-backward");
  }
  if (spec.schedule.kind != ScheduleKind::kInterleaved) return;
  if (spec.micro_batches % pp != 0) {
    throw UsageError("--schedule", schedule,
                     "goes in rounds of as many micro-batches as there are stages, and "
                     "--micro-batches " +
                         micro_batches + " is no multiple of pp=" + std::to_string(pp) +
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
    refuse("keeps one rank's weights, and --mesh " + to_string(spec.mesh) +
           " has several; allowed there: none, cpu");
  }
  if (spec.zero > 0) {
    refuse("moves blocks that --zero " + std::to_string(spec.zero) +
           " has in flat tensors on the device; allowed with it: none");
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
                     "keeps one rank's states, and --mesh " + to_string(spec.mesh) +
                         " has several; allowed there: none, cpu",
                     "--mesh dp=2 --optimizer-offload cpu");
  }
  if (spec.optimizer_offload.any() && spec.shard_group > 0) {
    throw UsageError("--shard-group", std::to_string(spec.shard_group),
                     "adds up between copies at the end of a step, and --optimizer-offload " +
                         to_string(spec.optimizer_offload) +
                         " takes gradients before; allowed with it: 0",
                     "--mesh dp=4 --zero 1 --optimizer-offload cpu");
  }
  if (spec.release_gradients && spec.mesh.size(MeshAxis::kData) > 1) {
    throw UsageError("--release-gradients", "true",
                     "updates by a gradient that --mesh " + to_string(spec.mesh) +
                         " adds up over replicas; allowed with it: where dp=1",
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
