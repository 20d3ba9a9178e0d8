# Finds the libtorch inside the pinned PyTorch wheel: target Libtorch::Libtorch.
#
# Note [Why not find_package(Torch)]
# Rationale: the wheel's own TorchConfig switches the CUDA language on, needs nvcc even for pure C++, asks the machine for its
#   GPU, and leaves directories of the machine that built the wheel in our RUNPATH.
# Approach: an imported target with the four include directories, the five libraries and a clean run path.
# Limits: no torch-compiled .cu options; a target that compiles .cu adds them itself.
#
# Note [std::filesystem beside libtorch]
# Rationale: libtorch.so and libtorch_cpu.so of the wheel export GCC 13's std::filesystem (64 and 142 symbols), and stand
#   before libstdc++.so where names are looked up: a program that links them calls theirs. Found with libtorch 2.11 beside
#   GCC 12's libstdc++: remove_all() calls a null pointer, because it needs recursive_directory_iterator::__erase, which
#   only the newer libstdc++ has. 30 other functions (status, links, iterators, paths) gave the right answers.
# Approach: what such a program may hold, the rooms up to bench without bench/dryrun, includes no <filesystem>; POSIX does
#   the same work. tests/repository/layers/check_layers.py fails on it. `headroom` itself links no libtorch and may use it.
# Limits: a test that links libtorch is not looked at.
#
# Input: LIBTORCH_DIR, the directory that holds include/ and lib/ (the wheel's torch/ folder).
set(LIBTORCH_DIR "" CACHE PATH "torch/ directory of the PyTorch wheel, or an unpacked libtorch")

set(version_header "${LIBTORCH_DIR}/include/torch/headeronly/version.h")
if(NOT EXISTS "${version_header}")
  message(FATAL_ERROR "No libtorch in LIBTORCH_DIR='${LIBTORCH_DIR}'. Run ./scripts/setup.sh, "
                      "or set HEADROOM_TORCH_DIR to a torch 2.11 directory before it.")
endif()
file(STRINGS "${version_header}" version_lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
foreach(part MAJOR MINOR PATCH)
  string(REGEX REPLACE ".*TORCH_VERSION_${part} ([0-9]+).*" "\\1" part_${part} "${version_lines}")
endforeach()
set(Libtorch_VERSION "${part_MAJOR}.${part_MINOR}.${part_PATCH}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS LIBTORCH_DIR VERSION_VAR Libtorch_VERSION)

if(Libtorch_FOUND AND NOT TARGET Libtorch::Libtorch)
  add_library(Libtorch::Libtorch INTERFACE IMPORTED)
  # The wheel's include/ carries its own fmt, which is why spdlog lives in a file that never sees this target.
  target_include_directories(Libtorch::Libtorch SYSTEM INTERFACE
    "${LIBTORCH_DIR}/include" "${LIBTORCH_DIR}/include/torch/csrc/api/include")
  # Full paths, so that CMake puts exactly their directory into the run path.
  set(libraries "")
  foreach(name torch torch_cpu torch_cuda c10 c10_cuda)
    list(APPEND libraries "${LIBTORCH_DIR}/lib/lib${name}.so")
  endforeach()
  # libtorch_cuda registers the CUDA backend when it is loaded; nothing refers to it by symbol, so the linker would drop it.
  target_link_libraries(Libtorch::Libtorch INTERFACE -Wl,--no-as-needed ${libraries} -Wl,--as-needed)
endif()
