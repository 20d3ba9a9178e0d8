#!/usr/bin/env bash
# Builds the libraries of `headroom dryrun` that serve one version of libtorch alone (values that the program
# reads, --breakdown), for the libtorch of another Python. Takes a minute of one core; needs the headers that come
# with the wheel.
#   torch_libraries.sh PYTHON...    e.g. build/wheels/torch-2.15.0/bin/python
# They lie in build/release/lib/torch-VERSION afterwards. Exit codes: 0 done, 2 PYTHON has no torch for CUDA,
# 5 headroom is not built, or the build failed.
set -euo pipefail
[[ $# -gt 0 && ${1:-} != -* ]] || { printf 'usage: torch_libraries.sh PYTHON... (a Python that has torch)\n' >&2 && exit 2; }
pythons=()
for python in "$@"; do pythons+=("$(realpath -s "$python")"); done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -x build/release/bin/headroom ]] || { printf 'headroom is not built: ./scripts/run_all.sh builds it\n' >&2 && exit 5; }
toolkit=$(sed -n 's/^CUDAToolkit_ROOT:[A-Z]*=//p' build/release/CMakeCache.txt)

for python in "${pythons[@]}"; do
  torch=$("$python" -c 'import importlib.util; print(importlib.util.find_spec("torch").submodule_search_locations[0])' 2>/dev/null || true)
  [[ -f $torch/lib/libtorch_cuda.so ]] || { printf "'%s' is no Python with a torch for CUDA\n" "$python" >&2 && exit 2; }
  version=$(sed -nE "s/^__version__ = '([0-9]+\.[0-9]+).*/\1/p" "$torch/version.py")
  build=build/torch-$version
  mkdir -p "$build"
  if ! { cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D HEADROOM_UNITS=ON -D LIBTORCH_DIR="$torch" \
    -D CUDAToolkit_ROOT="$toolkit" && cmake --build "$build" -j 1 --target headroom_operations headroom_breakdown; } \
    >"$build.log" 2>&1; then
    tail -n 20 "$build.log" >&2
    exit 5
  fi
  mkdir -p "build/release/lib/torch-$version"
  cp "$build/lib/torch-$version/"*.so "build/release/lib/torch-$version/"
  printf 'build/release/lib/torch-%s\n' "$version"
done
