// The techniques that keep the contract of docs/techniques.md, read from contract.json: what each
// changes in a step, and how far its results may be from the same step without it. No torch here.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// What stands for the gradients of a step.
enum class Compared {
  kGradients,
  kDirection,  // over the norm of them all
  kWeights,    // after an update: the gradients do not stay
};

// One technique under one precision.
struct ContractCell {
  std::string technique;
  std::string name;  // "checkpoint_full_bf16"
  RunSpec with;
  RunSpec without;  // the step that it is compared with
  Compared compared = Compared::kGradients;
  double loss = 0;       // most that its loss is off, relative; 0: not by a bit
  double gradients = 0;  // the same of what is compared, tensor by tensor, in L2 norms
};

// Where the cell is printed.
std::ostream& operator<<(std::ostream& out, const ContractCell& cell);

// Of the rows that run on the CPU, under each precision that they run in there.
std::vector<ContractCell> contract_on_cpu();

// The programs whose lines take many runs a row.
enum class ContractProgram { kValues, kBytes, kCard };
constexpr size_t kContractPrograms = 3;

// For lines of many runs: each technique alone, in one precision, BF16 where it can be chosen. Of
// the rows that combine techniques as many as hold every pair of settings that stands in one of
// them, each in one of the programs. All rows in all precisions where HEADROOM_LONG is set (ctest
// -C nightly).
std::vector<ContractCell> share_of(ContractProgram program, std::vector<ContractCell> cells);

// Steps of such a line: some, or as many as `at_night` where HEADROOM_LONG is set.
int64_t many_steps(int64_t at_night);

// The same as contract_on_cpu() for those of an H200; they have no tolerances.
std::vector<ContractCell> contract_on_card();

}  // namespace headroom
