#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "bench/launch/cell.h"
#include "bench/process/child_process.h"
#include "bench/process/torch_folder.h"
#include "bench/process/virtual_card.h"
#include "cli/doctor/checks.h"
#include "files/directory.h"
#include "plan/recipes/stack.h"
#include "text/words.h"
#include "train/kernels/region_settings.h"

namespace headroom {
namespace {

using State = Finding::State;

constexpr const char* kProgramsArea = "programs";

// An installed program gets this command: any environment with its torch will do
// (docs/setup/install.md).
std::string torch_installation() {
  if (!is_installed()) return "./scripts/setup.sh && cmake --build --preset release";
  const auto version = library_settings(RunSpec{}).at("torch").get<std::string>();
  return "python3 -m venv ~/torch && ~/torch/bin/pip install torch==" + version +
         " && export HEADROOM_TORCH_DIR=$(echo ~/torch/lib/python3*/site-packages/torch)";
}

Finding cell_finding() {
  Finding finding{.area = kProgramsArea, .name = "libtorch", .needed_by_all = true};
  try {
    finding.figures = cell_identity(CellOptions{});
    finding.figures["folder"] = torch_folder();
    finding.found = finding.figures.at("libtorch").get<std::string>() + " in " + torch_folder() +
                    "; headroom-cell is " + finding.figures.at("build").get<std::string>();
  } catch (const std::exception& error) {
    finding.state = State::kMissing;
    finding.found = error.what();
    finding.effect = "every command that runs a step: profile, sweep, fit, ppo";
    finding.repair = torch_installation();
  }
  return finding;
}

// libtorch's view of the cards: those of the driver, or none.
Finding cuda_finding(const Finding& cell) {
  Finding finding{.area = kProgramsArea, .name = "CUDA"};
  const auto devices = cell.figures.value("devices", std::vector<std::string>{});
  finding.figures["devices"] = devices;
  finding.found = devices.empty() ? "libtorch finds no card" : "libtorch finds " + join(devices);
  if (!devices.empty() || !has_nvidia_card()) return finding;
  finding.state = State::kBroken;
  finding.effect = "--device cuda does not work: there is a card, and libtorch does not find it";
  finding.repair = "nvidia-smi";
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    finding.found += " with CUDA_VISIBLE_DEVICES='" + std::string(visible) + "'";
    finding.repair = "unset CUDA_VISIBLE_DEVICES";
  }
  return finding;
}

// Starts a cell under it: present files may still not load.
Finding virtual_gpu_finding() {
  Finding finding{.area = kProgramsArea, .name = "virtual GPU"};
  try {
    const VirtualCard card = virtual_card({.kind = DeviceKind::kVirtual, .card = "h200"});
    const nlohmann::json identity =
        cell_identity(CellOptions{}, cell_stand_in_environment(card, 1));
    const auto devices = identity.value("devices", std::vector<std::string>{});
    if (devices.empty()) throw std::runtime_error("libtorch does not find the virtual card");
    finding.found = "libtorch finds a virtual " + devices.front();
  } catch (const std::exception& error) {
    finding.state = State::kMissing;
    finding.found = error.what();
    finding.effect = "--device virtual:..., dryrun, finetune, serve, fit";
    if (!is_installed()) finding.repair = torch_installation();  // else: installed incompletely
  }
  return finding;
}

// "torch 2.11.0, triton 3.6.0" in this Python. Throws std::runtime_error with its reason.
std::string versions_in(const std::string& python, const std::vector<std::string>& packages) {
  // Reads metadata: `import torch` alone takes 1.5 s.
  const std::string script =
      "import sys; from importlib.metadata import version; "
      "print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))";
  Command command{.program = python, .arguments = {"-c", script}, .deadline_seconds = 60};
  command.arguments.insert(command.arguments.end(), packages.begin(), packages.end());
  command.environment = changed_environment({}, {});
  command.on_error_line = [](const std::string&) {};
  const Outcome outcome = run_command(command);
  if (!outcome.spawn_error.empty()) throw std::runtime_error(python + ": " + outcome.spawn_error);
  if (outcome.exit_code != 0) throw std::runtime_error(python + ": " + outcome.last_error_line);
  return outcome.output.substr(0, outcome.output.find('\n')) + " in " + python;
}

// The answer of `found()`, or the reason why it throws.
template <typename Found>
Finding needed_for(const std::string& name, const std::string& effect, const std::string& repair,
                   const Found& found) {
  Finding finding{.area = kProgramsArea, .name = name};
  try {
    finding.found = found();
  } catch (const std::exception& error) {
    finding.state = State::kMissing;
    finding.found = error.what();
    finding.effect = effect;
    finding.repair = repair;
  }
  return finding;
}

// The path of the first of these programs in PATH.
std::string program_in_path(const std::vector<std::string>& names) {
  const char* const path = std::getenv("PATH");
  for (const std::string& name : names) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string program = in_directory(folder, name);
      if (!folder.empty() && ::access(program.c_str(), X_OK) == 0) return program;
    }
  }
  throw std::runtime_error("none of " + join(names) + " is in PATH");
}

Finding packages_finding(const std::string& stack, const std::vector<std::string>& packages) {
  return needed_for("packages of " + stack, "headroom " + stack, stack_installation(stack),
                    [&] { return versions_in(stack_python(stack), packages); });
}

}  // namespace

Findings check_programs() {
  const Finding cell = cell_finding();
  Findings findings = {cell};
  if (cell.state == State::kOk) {
    findings.push_back(cuda_finding(cell));
    findings.push_back(virtual_gpu_finding());
  }
  findings.push_back(
      needed_for("Python of libtorch", "--kernels compiled", torch_installation(), [] {
        return versions_in(torch_python(), {"torch", "triton"});
      }));
  findings.push_back(
      needed_for("C++ compiler", "--kernels compiled", "sudo apt-get install g++", [] {
        return program_in_path({"g++", "c++", "clang++"});
      }));
  findings.push_back(packages_finding("finetune", {"torch", "transformers", "peft", "trl"}));
  findings.push_back(packages_finding("serve", {"torch", "vllm"}));
  return findings;
}

}  // namespace headroom
