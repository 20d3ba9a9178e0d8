// The techniques under the contract of docs/step/techniques.md, read from contract.json: the
// settings of each, and the allowed difference from the same step without it. No torch here.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// The tensors compared between two steps.
enum class Compared {
  kGradients,
  kDirection,  // gradients over their total norm
  kWeights,    // after an update: the gradients are freed
};

// One technique with one precision.
struct ContractCell {
  std::string technique;
  std::string name;  // "checkpoint_full_bf16"
  RunSpec with;
  RunSpec without;  // the step for comparison
  Compared compared = Compared::kGradients;
  double loss = 0;       // highest relative error of the loss; 0: bit-identical
  double gradients = 0;  // the same for the compared tensors, each in the L2 norm
};

// Prints the cell in messages.
std::ostream& operator<<(std::ostream& out, const ContractCell& cell);

// The rows that run on the CPU, with each precision supported there.
std::vector<ContractCell> contract_on_cpu();

// The test programs with many runs per row.
enum class ContractProgram { kValues, kBytes, kCard };
constexpr size_t kContractPrograms = 3;

// The cells for lines of many runs: each technique alone, in one precision, BF16 if possible. From
// the rows that combine techniques, enough to cover all their pairs of settings, each in one of the
// programs. All rows in all precisions if HEADROOM_LONG is set (ctest -C nightly).
std::vector<ContractCell> share_of(ContractProgram program, std::vector<ContractCell> cells);

// By day each technique in one precision: the first of one technique, the last of the next.
std::vector<ContractCell> one_precision_by_day(const std::vector<ContractCell>& cells);

// Like contract_on_cpu(), for an H200; without tolerances.
std::vector<ContractCell> contract_on_card();

// Compiles the kernels of a step that has compiled ones, into the user's cache.
void compile_for(const RunSpec& spec);

}  // namespace headroom
