#!/usr/bin/env bash
# Runs a command on one of three allocators of host memory.
#   with_allocator.sh glibc|jemalloc|tcmalloc COMMAND...
# glibc is the C library's own. The others are Debian's packages libjemalloc2 and
# libgoogle-perftools4 (or the smaller libtcmalloc-minimal4), put before everything in LD_PRELOAD.
# Exit codes: the command's; 2 usage, 5 the package is not installed.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/usage.sh"
help_asked "${1:-}"

refuse() {
  printf '%s: %s\n' "${0##*/}" "$2" >&2
  exit "$1"
}

example="example: with_allocator.sh jemalloc headroom profile --model-size small --device cpu"
case ${1:-} in
  glibc) exec_with=() ;;
  jemalloc) package=libjemalloc2 libraries=(libjemalloc.so.2) ;;
  tcmalloc) package=libgoogle-perftools4 libraries=(libtcmalloc.so.4 libtcmalloc_minimal.so.4) ;;
  '') refuse 2 "no allocator (allowed: glibc, jemalloc, tcmalloc; $example)" ;;
  *) refuse 2 "'$1' is no allocator (allowed: glibc, jemalloc, tcmalloc; $example)" ;;
esac
[[ $# -ge 2 ]] || refuse 2 "no command to run on $1 ($example)"

# path_of LIBRARY: of the machine's own kind, as the loader finds it. ldconfig is not on every PATH.
path_of() {
  PATH=$PATH:/usr/sbin:/sbin ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

if [[ -v package ]]; then
  for library in "${libraries[@]}"; do
    path=$(path_of "$library")
    [[ -z $path ]] || break
  done
  [[ -n $path ]] || refuse 5 "$1 is not installed: it is in Debian's package $package"
  exec_with=("LD_PRELOAD=$path${LD_PRELOAD:+:$LD_PRELOAD}")
fi
exec env "${exec_with[@]}" "${@:2}"
