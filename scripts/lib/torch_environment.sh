# shellcheck shell=bash
# For scripts that run versions of PyTorch other than the pinned one.

# torch_python VERSION: installed into build/wheels once (.venv is used as it is, if it has this version); prints its Python.
torch_python() {
  local version=$1 folder=build/wheels/torch-$1
  if grep -qs "^__version__ = '$version" .venv/lib/python3*/site-packages/torch/version.py; then
    printf '%s\n' "$PWD/.venv/bin/python"
    return
  fi
  if [[ ! -e $folder/complete ]]; then
    printf 'installing torch %s into %s\n' "$version" "$folder" >&2
    rm -rf "$folder"
    python3 -m venv "$folder"
    if ! "$folder/bin/python" -m pip install -q --no-cache-dir --disable-pip-version-check --no-compile "torch==$version" numpy >&2; then
      rm -rf "$folder"
      return 1
    fi
    touch "$folder/complete"
  fi
  printf '%s\n' "$PWD/$folder/bin/python"
}

remove_torch() { rm -rf "build/wheels/torch-$1" "build/release/lib/torch-${1%.*}" "build/torch-${1%.*}"; }
