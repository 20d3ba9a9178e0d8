#include "train/resume/checkpoint_saver.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <utility>

#include "files/checksum.h"
#include "files/directory.h"
#include "train/data/safetensors.h"
#include "train/optim/optimizer.h"
#include "train/resume/checkpoint_index.h"
#include "train/resume/own_tensors.h"

namespace headroom {
namespace {

using torch::Tensor;

// A rank's piece of a tensor.
struct OwnPiece {
  PieceName name;
  Tensor values;  // flat, on the device
};

std::vector<OwnPiece> pieces_of(const std::vector<OwnTensor>& all) {
  std::vector<OwnPiece> pieces;
  for (const OwnTensor& own : all) {
    if (own.is_copy) continue;
    const Tensor flat = own.tensor.reshape({-1});
    int64_t begin = 0;
    for (const Rectangle& part : own.parts) {
      pieces.push_back({{own.name, own.shape, part}, flat.narrow(0, begin, part.numel())});
      begin += part.numel();
    }
  }
  // Aligns every element to its size, for readers.
  std::stable_sort(pieces.begin(), pieces.end(), [](const OwnPiece& a, const OwnPiece& b) {
    return a.values.element_size() > b.values.element_size();
  });
  return pieces;
}

// Writing ranks are numbered in rank order.
std::string name_of_part(int64_t writer, int64_t writers) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "shard-%05lld-of-%05lld.safetensors",
                static_cast<long long>(writer) + 1, static_cast<long long>(writers));
  return name.data();
}

// A rank writes or not by its place among the replicas.
int64_t writers_of(const RunSpec& spec) {
  const int64_t replicas = sharing_replicas(spec);
  return spec.mesh.ranks() / spec.mesh.size(MeshAxis::kData) * replicas;
}

}  // namespace

CheckpointSaver::CheckpointSaver(const RunSpec& spec, const DeviceMesh* device_mesh)
    : spec_(spec), device_mesh_(device_mesh) {
  if (device_mesh_ != nullptr && device_mesh_->rank() > 0) return;
  directory_ = std::make_unique<CheckpointDirectory>(spec_.save_checkpoint, spec_.load_checkpoint);
}

// Runs work on all ranks; if it fails on one, the checkpoint is removed.
void CheckpointSaver::together(int64_t step, const std::function<void()>& work) {
  std::exception_ptr failure;
  try {
    work();
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  const bool is_done = device_mesh_ == nullptr ? !failure : device_mesh_->all(!failure);
  if (is_done) return;
  if (directory_) directory_->abandon(step);
  if (device_mesh_ != nullptr) device_mesh_->all(true);  // after this, failed ranks may end
  if (failure) std::rethrow_exception(failure);
  throw std::runtime_error("another rank could not write its part of the checkpoint");
}

// Number among the writing ranks, in rank order.
int64_t CheckpointSaver::writer() const {
  if (device_mesh_ == nullptr) return 0;
  const Mesh& mesh = device_mesh_->mesh();
  const int64_t tp = mesh.size(MeshAxis::kTensor);
  return (device_mesh_->place(MeshAxis::kPipeline) * sharing_replicas(spec_) +
          device_mesh_->place(MeshAxis::kData)) *
             tp +
         device_mesh_->place(MeshAxis::kTensor);
}

void CheckpointSaver::write_part(const Step& step, int64_t steps) const {
  if (!saves(spec_, device_mesh_)) return;
  const torch::NoGradGuard no_grad;
  const std::vector<OwnPiece> pieces = pieces_of(own_tensors(step, spec_, device_mesh_));
  std::vector<PieceName> names;
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const OwnPiece& piece : pieces) {
    names.push_back(piece.name);
    tensors.push_back(
        {piece.name.key(), safetensors_dtype(piece.values.scalar_type()), piece.name.place.sizes});
  }
  const std::string directory = unfinished_checkpoint(spec_.save_checkpoint, steps);
  SafetensorsWriter file(in_directory(directory, name_of_part(writer(), writers_of(spec_))),
                         tensors, metadata_of(names));
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Tensor on_host = pieces[i].values.to(torch::kCPU).contiguous();
    const auto bytes = static_cast<int64_t>(on_host.nbytes());
    names[i].sum = checksum(on_host.const_data_ptr(), bytes);
    file.append(on_host.const_data_ptr(), bytes);
  }
  file.commit(metadata_of(names));
}

void CheckpointSaver::write_index_of(const Step& step, int64_t steps) const {
  const std::string directory = unfinished_checkpoint(spec_.save_checkpoint, steps);
  CheckpointIndex index = index_of_run(spec_);
  index.step = steps;
  index.updates = step.update->optimizers().front()->updates();
  if (const auto& scaler = step.update->loss_scaler) {
    index.loss_scale = {scaler->current_scale(), scaler->finite_steps()};
  }
  const int64_t writers = writers_of(spec_);
  for (int64_t i = 0; i < writers; ++i) add_file(directory, name_of_part(i, writers), &index);
  write_index(directory, index);
}

void CheckpointSaver::save(const Step& step, int64_t steps) {
  together(steps, [&] {
    if (directory_) directory_->begin(steps);
  });
  together(steps, [&] { write_part(step, steps); });
  together(steps, [&] {
    if (!directory_) return;
    write_index_of(step, steps);
    directory_->finish(steps);
  });
  last_ = steps;
}

}  // namespace headroom
