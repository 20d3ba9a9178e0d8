// A stub of headroom-cell for tests of the program: invents a Record at once, by the protocol of
// Note [The cell program]. Context 1024 runs out of memory, batch 13 crashes, batch 14 hangs, batch
// 15 takes half a second and reports progress, cuda is missing. The snapshot is a line of text.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "bench/launch/request.h"
#include "files/atomic_file.h"
#include "files/replace_file.h"
#include "model/parameter_table.h"
#include "profiling/record/record.h"

namespace {

using namespace headroom;

Record invent(const RunSpec& spec) {
  Record record{.spec = spec};
  record.environment["device"] = "stub <device>, \"quoted\"";
  if (spec.device.kind == DeviceKind::kCuda) {
    record.status = Status::kUnsupported;
    record.reason = "no CUDA device on this machine; use --device cpu";
    return record;
  }
  if (spec.context_length == 1024) {
    record.status = Status::kOom;
    record.reason = "tried to allocate 2.000 GiB\nwhile 1.000 GiB was free | really";
    record.peak = MemoryBytes{1 << 20, 2 << 20, 1 << 20};
    return record;
  }
  const int64_t parameters = 4 * parameter_count(model_config(spec));
  const int64_t activations =
      spec.context_length * (1 << 20) * (spec.profile_type == Mode::kForward ? 1 : 4);
  const bool training = spec.profile_type == Mode::kTraining;
  record.status = Status::kOk;
  record.categories_at_peak = {{"parameters", parameters}, {"other", 1234}};
  record.categories_at_peak["activations"] =
      uses_autocast(spec.precision) ? activations * 3 / 5 : activations;
  if (training) record.categories_at_peak["optimizer_state"] = 2 * parameters;
  if (uses_autocast(spec.precision)) record.categories_at_peak["cast_cache"] = parameters / 2;
  int64_t peak = 0;
  for (const auto& category : record.categories_at_peak) peak += category.second;
  record.recorded_peak = record.peak = MemoryBytes{peak, peak + 4096, peak - 1000};
  record.phase_order = {"forward"};
  record.phases["forward"] = *record.peak;
  record.peak_phase = "forward";
  record.residual_bytes_per_block = activations / 12;
  record.residual_tensors_per_block = 20;
  record.predicted = {
      {"parameters", parameters}, {"residual_bytes_per_block", activations / 13}, {"logits", 77}};
  record.step_ms = {2.0, 1.0, 4.0};
  return record;
}

// In the format of bench/launch/progress.h.
void take_some_time() {
  std::cerr << "stub: about to begin\n";
  for (int step = 0; step <= 4; ++step) {
    const nlohmann::json line = {{"device", "stub device"},
                                 {"stage", step == 0 ? "building" : "measured"},
                                 {"step", step},
                                 {"steps", 4}};
    std::cerr << "headroom-progress " << line << '\n';
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--identity") {
    std::cout << R"({"build": "stub", "libtorch": "none", "devices": ["stub"]})" << '\n';
    return 0;
  }
  if (argc > 1 && std::string(argv[1]) == "--alloc-conf-keys") {  // accepts any
    std::cout << "[]\n";
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const CellRequest request = request_from_json(line);
    const RunSpec& spec = request.spec;
    if (spec.batch_size == 15 && request.tells_progress) take_some_time();
    if (spec.batch_size == 14) std::this_thread::sleep_for(std::chrono::seconds(60));
    if (spec.batch_size == 13) {
      std::cerr << "stub: thirteen is too many\n";
      std::abort();
    }
    Record record = invent(spec);
    try {
      if (!spec.snapshot.empty()) write_file_atomically(spec.snapshot, "a snapshot\n");
    } catch (const WriteError& error) {
      record.status = Status::kUnwritable;
      record.reason = error.what();
    }
    std::cout << to_json_line(record) << std::endl;
  }
  return 0;
}
