// A part of libheadroom_breakdown.so: the owners of memory in a C++ program. See Note [C++
// programs] in bench/dryrun/breakdown/cpp/calls.cpp.
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "bench/dryrun/breakdown/context.h"
#include "bench/dryrun/breakdown/cpp/calls.h"
#include "bench/dryrun/breakdown/cpp/cpp_place.h"
#include "bench/dryrun/breakdown/cpp/owned_tensors.h"
#include "bench/dryrun/breakdown/cpp/program_snapshot.h"
#include "bench/dryrun/breakdown/refusal.h"
#include "bench/dryrun/breakdown/rows_json.h"
#include "bench/dryrun/breakdown/watch.h"

namespace headroom {
namespace {

void registered(void* module, const void* tensor, bool is_buffer) {
  register_tensor(*static_cast<torch::nn::Module*>(module), *static_cast<const at::Tensor*>(tensor),
                  is_buffer);
}

void module_seen(const void* module) {
  name_tensors_below(*static_cast<const torch::nn::Module*>(module));
}

void backward_begins() {
  tag_owned();
  begin_backward(cpp_place());
}

void backward_ends() {
  tag_owned();
  end_backward();
}

void step_begins(void* optimizer) {
  tag_owned();
  tag_parameters_of(*static_cast<torch::optim::Optimizer*>(optimizer));
  begin_optimizer();
}

void step_ends(void* optimizer) {
  auto& own = *static_cast<torch::optim::Optimizer*>(optimizer);
  tag_states_of(own);
  end_step_of(number_of_optimizer(own));
}

// Each time that memory ran out, as in virtual_gpu/python_hook/headroom_breakdown.py; the last few.
struct Refusals {
  std::mutex mutex;
  std::vector<nlohmann::json> last;
};
Refusals& refusals() {
  static auto* const all = new Refusals;  // threads may outlive the process's end
  return *all;
}

void name_places(nlohmann::json& instant) {
  for (nlohmann::json& row : instant["rows"])
    row["place"] = cpp_place_text(row["place"].get_ref<const std::string&>());
}

// "train.cpp:42 in main (PowBackward0)"
std::string where_of(const LiveMemory& live) {
  const std::string place = cpp_place_text(live.place);
  if (place.empty()) return live.operation.empty() ? "no operation" : live.operation;
  return live.operation.empty() ? place : place + " (" + live.operation + ")";
}

void note_refusal(int device, int64_t wanted) {
  constexpr size_t kMost = 8;
  tag_owned();
  const LiveMemory live = live_memory(device, cpp_place());
  nlohmann::json refusal = refusal_json(device, wanted, live.instant);
  refusal["where"] = where_of(live);
  name_places(refusal);
  const std::scoped_lock lock(refusals().mutex);
  if (refusals().last.size() == kMost) refusals().last.erase(refusals().last.begin());
  refusals().last.push_back(std::move(refusal));
}

bool wants_breakdown() { return std::getenv("HEADROOM_DRYRUN_BREAKDOWN") != nullptr; }

void memory_ran_out(int device, int64_t wanted) {
  if (wants_breakdown()) note_refusal(device, wanted);
  if (wants_program_snapshot()) write_snapshot_of_refusal();
}

const char* snapshot() {
  static auto* const text = new std::string;
  *text = json_text(finish_program_snapshot());
  return text->c_str();
}

const char* report() {
  tag_owned();
  nlohmann::json devices = finished_ledgers();
  for (nlohmann::json& device : devices) name_places(device["peak"]);
  const std::scoped_lock lock(refusals().mutex);
  const nlohmann::json all = {
      {"reason", ""}, {"devices", devices}, {"out_of_memory", refusals().last}};
  static auto* const text = new std::string;
  *text = json_text(all);
  return text->c_str();
}

}  // namespace
}  // namespace headroom

// Sets the functions that libheadroom_blocks.so calls.
extern "C" void headroom_hear_calls(headroom::OnCalls* calls) {
  using namespace headroom;
  OnProgramBlocks blocks{.refused = memory_ran_out};
  if (wants_breakdown()) blocks.place = cpp_place;
  if (wants_program_snapshot()) {
    blocks.begins = begin_program_snapshot;
    blocks.allocates = program_allocates;
  }
  if (!hear_blocks(blocks)) return;
  if (wants_breakdown()) {
    *calls = {.registered = registered,
              .module_seen = module_seen,
              .backward_begins = backward_begins,
              .backward_ends = backward_ends,
              .step_begins = step_begins,
              .step_ends = step_ends,
              .report = report};
  }
  if (wants_program_snapshot()) calls->snapshot = snapshot;
}
