#!/usr/bin/env bash
# An installed headroom, with cmake --install and as a Debian package: it runs from another folder with a bare environment,
# finds libtorch where HEADROOM_TORCH_DIR says, and serves another project's CMake.
# Usage: install_test.sh BUILD TORCH PYTHON CUDA_ROOT; without HEADROOM_LONG the package is not made.
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"

build=$1 torch=$2 python=$3 cuda=$4
consumer=$(realpath "$(dirname "${BASH_SOURCE[0]}")/consumer")
begin "$build/bin/headroom"
unset LD_LIBRARY_PATH HEADROOM_TORCH_DIR

# A name with a space; nothing of the source tree is in the environment.
cmake --install "$build" --prefix "$work/a place" >log 2>&1 || fail "cmake --install: $(tail -n 5 log)"
installed="$work/a place/bin/headroom"
bare=(env -i PATH=/usr/bin:/bin HOME="$work" LC_ALL=C.UTF-8)
mkdir elsewhere
cd elsewhere || exit 1

# runs CODE ARGUMENTS...: the installed program, here.
runs() {
  local code=$1 got
  shift
  "${bare[@]}" "$installed" "$@" >../out 2>../err
  got=$?
  cp ../err .
  [[ $got -eq $code ]] || fail "exit $got, not $code: headroom $*"
}

ask=(profile --model-size small --layers 2 --device virtual:rtx4090 --warmup-steps 0 --measure-steps 1)
runs 0 "${ask[@]}" --format json
peak=$(grep -o '"peak_allocated_bytes":[0-9]*' ../out)
of_build=$("$program" "${ask[@]}" --format json | grep -o '"peak_allocated_bytes":[0-9]*')
[[ -n $peak && $peak == "$of_build" ]] || fail "the installed program measures '$peak', the build '$of_build'"
runs 0 theory --model-size small
runs 0 dryrun --card rtx4090 -- "$python" -c 'import torch; torch.ones(1 << 28, device="cuda")'
grep -q '1.000 GiB' ../err || fail "the dry run's report: $(<../err)"
runs 0 doctor

# No file of the build tree is used, and no program asks for one.
for file in "$work/a place"/lib/headroom/bin/* "$work/a place"/lib/headroom/lib/*.so "$work/a place"/lib/headroom/lib/driver/*.so.?; do
  readelf -d "$file" | grep -qF "[$build" && fail "$file loads libraries of the build tree"
done
[[ -s "$work/a place/share/man/man1/headroom.1" ]] || fail 'no manual page'

# libtorch elsewhere: the run path of this cell names a folder that does not exist.
cell="$work/a place/lib/headroom/bin/headroom-cell"
LC_ALL=C sed -i "s|$torch/lib|${torch//[a-z]/x}/lib|" "$cell"
runs 5 "${ask[@]}"
grep -q 'libtorch has moved since headroom was built: .* set HEADROOM_TORCH_DIR to its folder' ../err || fail "$(<../err)"
runs 5 doctor
grep -q '^  python3 -m venv ~/torch && ~/torch/bin/pip install torch==2.*&& export HEADROOM_TORCH_DIR=' ../out ||
  fail 'the installed doctor has no command that gets libtorch'
grep -q "/lib/headroom/lib/recipes/install.sh' finetune" ../out || fail 'no command installs the packages of finetune'
bare+=(HEADROOM_TORCH_DIR="$torch")
runs 0 "${ask[@]}"
bare+=(HEADROOM_TORCH_DIR=/nonexistent)
runs 5 "${ask[@]}"
grep -q "HEADROOM_TORCH_DIR='/nonexistent' is no libtorch" ../err || fail "$(<../err)"
cd .. || exit 1

# Another project's tests.
{
  cmake -S "$consumer" -B consumer -DCMAKE_PREFIX_PATH="$work/a place" -DCUDAToolkit_ROOT="$cuda" -DTORCH_PYTHON="$python" &&
    cmake --build consumer
} >log 2>&1 || fail "the other project: $(tail -n 5 log)"
ctest --test-dir consumer >log 2>&1 || fail "the other project's tests: $(<log)"
grep -q '100% tests passed, 0 tests failed out of 6' log || fail "other tests: $(<log)"

# The package has the same files below /usr, and names the libraries that it needs: at night.
if [[ -n ${HEADROOM_LONG:-} ]] && command -v dpkg-deb dpkg-shlibdeps >path && [[ $(wc -l <path) -eq 2 ]]; then
  cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/package" >log 2>&1 || fail "cpack: $(tail -n 5 log)"
  dpkg-deb -I package/*.deb >info
  grep -q 'Depends: .*libsimdjson' info || fail "the package depends on: $(<info)"
  dpkg-deb -x package/*.deb unpacked || fail 'the package does not open'
  # Python has compiled what ran.
  diff <(cd unpacked/usr && find . -not -type d | sort) \
    <(cd "a place" && find . -not -type d -not -path '*/__pycache__/*' | sort) || fail 'the package has other files'
  env -i PATH=/usr/bin:/bin HOME="$work" unpacked/usr/bin/headroom "${ask[@]}" >out 2>err || fail 'the packaged program does not run'
fi

finish
