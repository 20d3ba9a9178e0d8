#include "train/resume/checkpoint_index.h"

#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "files/checksum.h"
#include "files/directory.h"
#include "files/mapped_file.h"
#include "files/replace_file.h"
#include "files/whole_file.h"
#include "text/quantity.h"
#include "train/data/safetensors.h"
#include "train/resume/checkpoint_directory.h"
#include "train/resume/whole_checkpoint.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr int64_t kVersion = 2;
constexpr int64_t kVersionWithoutSums = 1;
constexpr const char* kSum = "xxh3";
constexpr int64_t kMostIndex = int64_t{4} << 30;  // bytes
constexpr int64_t kMostSteps = int64_t{1} << 40;
constexpr const char* kPieces = "pieces";
constexpr const char* kLoadExample = "--load-checkpoint checkpoints";
// Differences that are reported.
constexpr const char* kSaid[] = {"seed",          "tokens",       "batch_size",    "context_length",
                                 "learning_rate", "weight_decay", "max_grad_norm", "precision"};

[[noreturn]] void refuse(const std::string& checkpoint, const std::string& problem) {
  throw UsageError("--load-checkpoint", checkpoint, problem, kLoadExample);
}

std::map<std::string, std::string> model_of(const RunSpec& spec) {
  const ModelConfig config = model_config(spec);
  std::map<std::string, std::string> model = {{"optimizer", to_string(spec.optimizer)}};
  const auto say = [&](const char* name, int64_t value) { model[name] = std::to_string(value); };
  for (const Dimension& dimension : dimensions_of(config))
    say(dimension.name, config.*dimension.size);
  for (const LayerSwitch& layer : kLayerSwitches) {
    if (config.*layer.on) model[layer.name] = "true";
  }
  // Stored type, of the masters if any: BF16 moments go with BF16 weights.
  const bool all_bf16 =
      spec.weights == WeightType::kBf16 && spec.master_weights == MasterCopy::kNone;
  model["weights"] = word_of(all_bf16 ? WeightType::kBf16 : WeightType::kFp32);
  // Blocks of 8-bit states depend on each rank's tensors.
  if (spec.optimizer == OptimizerKind::kAdam8bit) say("tp", spec.mesh.size(MeshAxis::kTensor));
  return model;
}

std::map<std::string, std::string> run_of(const RunSpec& spec) {
  std::map<std::string, std::string> run = {
      {"dp", std::to_string(spec.mesh.size(MeshAxis::kData))}};
  for (const char* name : kSaid) run[name] = find_field(name)->get(spec);
  return run;
}

std::string flag_of(const std::string& name) {
  if (name == "tp" || name == "dp") return "--mesh " + name;
  const Field* const field = find_field(name);
  return field == nullptr ? name : field->flag();
}

// For an index with or without its checksum.
std::string sum_of_index(json all) {
  all.erase(kSum);
  return checksum_text(checksum(all.dump()));
}

json json_of(const CheckpointIndex& index) {
  json metadata = {{"version", kVersion},
                   {"step", index.step},
                   {"updates", index.updates},
                   {"model", index.model},
                   {"run", index.run}};
  if (index.loss_scale) {
    metadata["loss_scale"] = {{"scale", index.loss_scale->scale},
                              {"finite_steps", index.loss_scale->finite_steps}};
  }
  json files = json::object();
  json tensors = json::object();
  int64_t bytes = 0;
  for (const auto& [name, stored] : index.tensors) {
    json pieces = json::array();
    for (const auto& piece : stored.pieces) {
      files[piece.key] = piece.file;
      pieces.push_back({{"key", piece.key},
                        {"offsets", piece.place.offsets},
                        {"shape", piece.place.sizes},
                        {kSum, checksum_text(piece.sum.value())}});
      bytes += piece.place.numel() * safetensors_element_size(stored.dtype);
    }
    tensors[name] = {{"dtype", stored.dtype}, {"shape", stored.shape}, {kPieces, pieces}};
  }
  metadata["total_size"] = bytes;
  json all = {{"metadata", metadata}, {"weight_map", files}, {"tensors", tensors}};
  all[kSum] = sum_of_index(all);
  return all;
}

bool lies_in(const Rectangle& place, const std::vector<int64_t>& shape) {
  if (place.offsets.size() != shape.size() || place.sizes.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool fits = place.offsets[i] >= 0 && place.sizes[i] >= 0 && place.sizes[i] <= shape[i] &&
                      place.offsets[i] <= shape[i] - place.sizes[i];
    if (!fits) return false;
  }
  return true;
}

CheckpointIndex from_json(const json& all) {
  const json& metadata = all.at("metadata");
  const auto version = metadata.at("version").get<int64_t>();
  if (version != kVersion && version != kVersionWithoutSums) throw std::runtime_error("version");
  CheckpointIndex index;
  index.has_sums = version == kVersion;
  if (index.has_sums && all.at(kSum) != sum_of_index(all)) throw std::runtime_error("checksum");
  index.step = metadata.at("step").get<int64_t>();
  index.updates = metadata.at("updates").get<int64_t>();
  if (index.step < 0 || index.step > kMostSteps || index.updates < 0 ||
      index.updates > index.step) {
    throw std::runtime_error("steps");
  }
  index.model = metadata.at("model").get<std::map<std::string, std::string>>();
  index.run = metadata.at("run").get<std::map<std::string, std::string>>();
  if (metadata.contains("loss_scale")) {
    const json& scale = metadata.at("loss_scale");
    index.loss_scale = {scale.at("scale").get<double>(), scale.at("finite_steps").get<int64_t>()};
  }
  const json& files = all.at("weight_map");
  for (const auto& [name, item] : all.at("tensors").items()) {
    CheckpointIndex::Stored& stored = index.tensors[name];
    stored.dtype = item.at("dtype").get<std::string>();
    stored.shape = item.at("shape").get<std::vector<int64_t>>();
    for (const json& piece : item.at(kPieces)) {
      const auto key = piece.at("key").get<std::string>();
      stored.pieces.push_back({key,
                               files.at(key).get<std::string>(),
                               {piece.at("offsets").get<std::vector<int64_t>>(),
                                piece.at("shape").get<std::vector<int64_t>>()},
                               std::nullopt});
      auto& added = stored.pieces.back();
      if (index.has_sums) added.sum = checksum_from_text(piece.at(kSum).get<std::string>()).value();
      const bool is_name = added.file.find('/') == std::string::npos;
      if (!is_name || !lies_in(added.place, stored.shape)) throw std::runtime_error(key);
    }
  }
  return index;
}

}  // namespace

std::string PieceName::key() const {
  return place == whole_of(shape) ? tensor : tensor + in_words(place);
}

std::map<std::string, std::string> metadata_of(const std::vector<PieceName>& pieces) {
  json all = json::object();
  for (const PieceName& piece : pieces) {
    all[piece.key()] = {{"tensor", piece.tensor},
                        {"shape", piece.shape},
                        {"offsets", piece.place.offsets},
                        {kSum, checksum_text(piece.sum)}};
  }
  return {{"format", "pt"}, {kPieces, all.dump()}};
}

CheckpointIndex index_of_run(const RunSpec& spec) {
  CheckpointIndex index;
  index.model = model_of(spec);
  index.run = run_of(spec);
  return index;
}

void add_file(const std::string& directory, const std::string& file, CheckpointIndex* index) {
  const SafetensorsFile tensors(in_directory(directory, file), "--save-checkpoint checkpoints");
  const json pieces = json::parse(tensors.metadata().at(kPieces));
  for (const auto& [key, entry] : tensors.entries()) {
    const json& piece = pieces.at(key);
    CheckpointIndex::Stored& stored = index->tensors[piece.at("tensor").get<std::string>()];
    stored.dtype = entry.dtype;
    stored.shape = piece.at("shape").get<std::vector<int64_t>>();
    stored.pieces.push_back({key,
                             file,
                             {piece.at("offsets").get<std::vector<int64_t>>(), entry.shape},
                             checksum_from_text(piece.at(kSum).get<std::string>())});
  }
}

void write_index(const std::string& directory, const CheckpointIndex& index) {
  const std::string path = index_of_checkpoint(directory);
  for (const auto& [name, stored] : index.tensors) {
    int64_t missing = name.starts_with("optimizer.") ? 0 : whole_of(stored.shape).numel();
    for (const auto& piece : stored.pieces) missing -= piece.place.numel();
    if (missing <= 0) continue;
    std::string problem = "cannot write " + path;
    problem += ": no rank has " + name;
    throw WriteError(problem);
  }
  write_file_atomically(path, json_of(index).dump() + "\n");
}

std::string damage_of(const CheckpointIndex::Piece& piece, const CheckpointIndex::Stored& stored,
                      const SafetensorsFile& file) {
  const auto entry = file.entries().find(piece.key);
  if (entry == file.entries().end() || entry->second.dtype != stored.dtype ||
      entry->second.shape != piece.place.sizes) {
    return "is damaged: " + piece.file + " and the index disagree on " + piece.key;
  }
  if (piece.sum && checksum(entry->second.data, entry->second.bytes) != *piece.sum) {
    return "is damaged: the checksum of " + piece.key + " in " + piece.file +
           " is not that of the index";
  }
  return "";
}

CheckpointIndex index_in(const std::string& path) {
  return from_json(json::parse(read_whole_file(path, kMostIndex)));
}

CheckpointIndex read_index(const std::string& checkpoint) {
  const std::string path = index_of_checkpoint(checkpoint);
  try {
    return index_in(path);
  } catch (const ReadError& error) {
    refuse(checkpoint, "cannot be read: " + error.reason());
  } catch (const std::exception&) {
    refuse_damaged(checkpoint, "is damaged: its index has another format");
  }
}

std::vector<std::string> check_same_run(const std::string& checkpoint, const CheckpointIndex& index,
                                        const RunSpec& spec) {
  // A setting that an index does not name has its default.
  const auto value_in = [](const std::map<std::string, std::string>& values,
                           const std::string& name) {
    if (const auto it = values.find(name); it != values.end()) return it->second;
    const Field* const field = find_field(name);
    return field == nullptr ? "none" : field->get(RunSpec());
  };
  const std::map<std::string, std::string> own = model_of(spec);
  std::map<std::string, std::string> names = index.model;
  names.insert(own.begin(), own.end());
  for (const auto& [name, any] : names) {
    const std::string value = value_in(own, name);
    const std::string there = value_in(index.model, name);
    if (there == value) continue;
    const auto said = [flag = flag_of(name),
                       between = name == "tp" ? "=" : " "](const std::string& what) {
      std::string words = flag;
      words += between;
      words += what;
      return words;
    };
    std::string problem = "was saved by a run with " + said(there);
    problem += ", and this run has " + said(value);
    problem += "; allowed: the same";
    throw UsageError("--load-checkpoint", checkpoint, problem, said(there));
  }
  std::vector<std::string> notes;
  for (const auto& [name, value] : run_of(spec)) {
    const std::string there = value_in(index.run, name);
    if (there == value || !index.run.contains(name)) continue;  // earlier versions store less
    const auto in_words = [](const std::string& text) { return text.empty() ? "none" : text; };
    std::string note = "the checkpoint was saved by a run with " + flag_of(name);
    note += " " + in_words(there);
    note += ", and this run has " + in_words(value);
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace headroom
