// The checks of headroom doctor, by area. Each answers with what it found, and never throws because
// something is missing. No torch here.
#pragma once

#include "bench/cell/machine/nvml.h"
#include "bench/process/host_memory.h"
#include "cli/doctor/finding.h"

namespace headroom {

// The driver; the memory, clocks and other users of each card.
Findings check_cards(const std::string& nvml_library = kNvmlLibrary);

// headroom-cell with its libtorch, the virtual GPU, Python and compiler of --kernels compiled, the
// packages of finetune and serve. Starts these programs: takes a few seconds.
Findings check_programs();

// Memory and its limits, limits of a process, disks.
Findings check_host(const KernelPaths& paths = {});

// The variables that are set and change figures.
Findings check_environment();

}  // namespace headroom
