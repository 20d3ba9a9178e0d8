# shellcheck shell=bash
# For scripts that run versions of PyTorch other than the pinned one.

# torch_python VERSION [SECONDS]: installed into build/wheels once, within SECONDS (default 3600); .venv is used as it is, if it
# has this version. Prints its Python.
torch_python() {
  local version=$1 seconds=${2:-3600} folder=build/wheels/torch-$1
  if grep -qs "^__version__ = '$version" .venv/lib/python3*/site-packages/torch/version.py; then
    printf '%s\n' "$PWD/.venv/bin/python"
    return
  fi
  if [[ ! -e $folder/complete ]]; then
    printf 'installing torch %s into %s\n' "$version" "$folder" >&2
    rm -rf "$folder"
    python3 -m venv "$folder" || return
    if ! timeout "$seconds" "$folder/bin/python" -m pip install -q --no-cache-dir --disable-pip-version-check --no-compile "torch==$version" numpy >&2; then
      rm -rf "$folder"
      return 1
    fi
    touch "$folder/complete"
  fi
  printf '%s\n' "$PWD/$folder/bin/python"
}

# packages_in NAME PYTHON PACKAGE...: prints the folder build/stacks/NAME, with these packages alone, installed into it again only when the
# list changes.
packages_in() {
  local folder=$PWD/build/stacks/$1
  if [[ $(cat "$folder/complete" 2>/dev/null) != "${*:3}" ]]; then
    rm -rf "$folder"
    "$2" -m pip install -q --disable-pip-version-check --no-compile --target "$folder" --no-deps "${@:3}" >&2 || return 5
    printf '%s\n' "${*:3}" >"$folder/complete"
  fi
  printf '%s\n' "$folder"
}

# python_packages none|course PYTHON: prints a folder with the packages that programs of the course import beside torch.
python_packages() {
  [[ $1 != none ]] || return 0
  packages_in "$1" "$2" einops einx==0.3.0 jaxtyping wadler-lindig frozendict pandas tabulate python-dateutil six pytz tzdata
}

# pretend_installed FOLDER NAME: code in FOLDER that asks for the version of the package NAME finds one.
pretend_installed() {
  mkdir -p "$1/${2//-/_}-0.dist-info"
  printf 'Metadata-Version: 2.1\nName: %s\nVersion: 0\n' "$2" >"$1/${2//-/_}-0.dist-info/METADATA"
}

# remove_torch VERSION: the environment that torch_python installed, and the libraries that were built for it. Nothing of .venv.
remove_torch() {
  [[ -e build/wheels/torch-$1 ]] || return 0
  rm -rf "build/wheels/torch-$1" "build/release/lib/torch-${1%.*}" "build/torch-${1%.*}"
}
