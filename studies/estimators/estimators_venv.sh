# shellcheck shell=bash
# For scripts that compare estimators: the programs they start, and the estimators' own packages.

# find_programs: sets python, the pinned wheel's, and headroom, built where it is not.
find_programs() {
  if [[ -n "${HEADROOM_TORCH_DIR:-}" ]]; then
    python=$(cd "$HEADROOM_TORCH_DIR/../../../.." && pwd)/bin/python
  else
    python=$PWD/.venv/bin/python
  fi
  headroom=${HEADROOM_BIN:-$PWD/build/release/bin/headroom}
  if [[ -z "${HEADROOM_BIN:-}" && (! -x "$headroom" || ! -x "$python") ]]; then
    scripts/setup.sh || return
    cmake --build --preset release --target headroom headroom-cell >&2 || return 5
  fi
}

venv=build/estimators-venv

# The estimators' own packages; torch stays the pinned wheel's, which a .pth line lends.
make_venv() {
  [[ -x "$venv/bin/python" ]] && return
  rm -rf "$venv"
  "$python" -m venv "$venv" || return
  local packages
  packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || return
  printf '%s\n' "$packages" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
}

# install TOOL: once per content of its list. Where that fails, pip's last word is what its rows say.
install() {
  local tool=$1 list=studies/estimators/requirements-$1.txt log=build/estimators-$1.log
  local stamp=$venv/installed-$tool why=$venv/not-installed-$tool
  cmp -s "$list" "$stamp" && return
  rm -f "$why"
  echo "installing $tool into $venv" >&2
  if DS_BUILD_OPS=0 "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
    --no-deps -r "$list" >"$log" 2>&1; then
    cp "$list" "$stamp"
  else
    sed -n 's/^ERROR: //p' "$log" | tail -n 1 >"$why"
    echo "$tool is not installed: $(<"$why")" >&2
  fi
}
