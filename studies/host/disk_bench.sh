#!/usr/bin/env bash
# The throughput of states on a disk, beside that of fio there: the same block size, as many transfers under way, as many bytes
# read of one file as are written to another, O_DIRECT, io_uring with registered buffers (for both threads where the
# kernel forbids it).
#   disk_bench.sh DIRECTORY [--size BYTES] [--block BYTES] [--buffers N] [--rounds N] [--threads]
#     --size     of the states, default 805306368; four times that is needed on the disk
#     --block    default 3145728: 262144 numbers' master weight, m and v
#     --buffers  default 8
#     --rounds   default 5: fio and a step in turn, each round its own ratio
#     --threads  both with threads, although there is io_uring
# A step's time has its sync and its list in it; fio's has neither. Prints a table and the ratios' median.
# Exit codes: 0 the median is 0.8 or more, 1 it is less, 2 usage, 5 no fio, not built, or the disk will not do.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/usage.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/usage.sh"
help_asked "${1:-}"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=${HEADROOM_DISK_STEP:-$root/build/release/bin/headroom_disk_step}

fail() {
  printf 'disk_bench.sh: %s\n' "$2" >&2
  exit "$1"
}

[[ $# -gt 0 && $1 != --* ]] || fail 2 "a directory on the disk comes first (example: disk_bench.sh /mnt/nvme)"
directory=$1 size=805306368 block=3145728 buffers=8 rounds=5 threads=()
shift
while [[ $# -gt 0 ]]; do
  case $1 in
    --threads) threads=(threads) && shift && continue ;;
    --size | --block | --buffers | --rounds)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail 2 "$1 '${2:-}' is no whole number from 1 on (example: $1 8)" ;;
    *) fail 2 "unknown option '$1' (allowed: --size, --block, --buffers, --rounds, --threads)" ;;
  esac
  given_once "$1"
  case $1 in
    --size) size=$2 ;;
    --block) block=$2 ;;
    --buffers) buffers=$2 ;;
    --rounds) rounds=$2 ;;
  esac
  shift 2
done
[[ -d $directory ]] || fail 5 "$directory is no directory"
command -v fio >/dev/null || fail 5 "no fio here: apt-get install fio"
[[ -x $program ]] || fail 5 "$program is not built: cmake --build --preset release --target headroom_disk_step"

scratch=$(mktemp -d "$directory/disk_bench.XXXXXX") || fail 5 "cannot write to $directory"
trap 'rm -rf "$scratch"' EXIT

# A step reports which of the two the kernel allows.
if ! said=$("$program" "$scratch" 1048576 1048576 3 1 "${threads[@]}" 2>&1 >/dev/null); then fail 5 "$said"; fi
[[ -z $said ]] || printf '%s\n' "$said" >&2
[[ $said != *refuses\ io_uring* ]] || threads=(threads)
size=$((size / block * block))
each=$(((buffers + 1) / 2)) # under way in either direction
if [[ ${#threads[@]} -eq 0 ]]; then
  engine=(--ioengine=io_uring --fixedbufs=1 --registerfiles=1 "--iodepth=$each" "--size=$size")
else
  share=$((size / each / block * block))
  engine=(--ioengine=psync "--numjobs=$each" "--size=$share" "--offset_increment=$share")
fi
both=("${engine[@]}" --thread --direct=1 --overwrite=1 --bs="$block")

# Like a step: one file is read while another is written. One line of JSON, {"bytes", "seconds"}, to the end of
# the slower of the two.
run_fio() {
  fio --output-format=json --output="$scratch/fio.out" --name=read --rw=read --filename="$scratch/fio-a" "${both[@]}" \
    --name=write --rw=write --filename="$scratch/fio-b" "${both[@]}" >"$scratch/fio.err" 2>&1 ||
    fail 5 "fio failed: $(head -n 1 "$scratch/fio.err")"
  python3 -IS - "$scratch/fio.out" <<'END' || fail 5 "fio failed: $(head -n 1 "$scratch/fio.out")"
import json, sys

with open(sys.argv[1]) as file:
    text = file.read()  # fio's warnings come first
jobs = json.loads(text[text.index("{\n"):])["jobs"]
ways = [job[way] for job in jobs for way in ("read", "write")]
if any(job["error"] for job in jobs): sys.exit(1)
print(json.dumps({"bytes": sum(way["io_bytes"] for way in ways),
                  "seconds": max(way["runtime"] for way in ways) / 1000}))
END
}

run_fio >/dev/null || exit # makes its files
for ((round = 0; round < rounds; ++round)); do
  run_fio >>"$scratch/fio.jsonl" || exit
  "$program" "$scratch" "$size" "$block" "$buffers" 1 "${threads[@]}" >>"$scratch/ours.jsonl" 2>"$scratch/ours.err" ||
    fail 5 "$(tail -n 1 "$scratch/ours.err")"
done
python3 -IS - "$scratch" "${engine[0]#*=}" "$block" "$buffers" <<'END'
import json, statistics, sys

scratch, engine, block, buffers = sys.argv[1:]
def rates(name):
    with open(f"{scratch}/{name}.jsonl") as file:
        return [row["bytes"] / row["seconds"] / 2**20 for row in map(json.loads, file)]
fio, ours = rates("fio"), rates("ours")
print(f"{engine}, blocks of {int(block) / 2**20:g} MiB, {buffers} under way; MiB/s, read and written together")
print("round      fio     step  ratio")
for number, (theirs, mine) in enumerate(zip(fio, ours), 1):
    print(f"{number:5} {theirs:8.1f} {mine:8.1f} {mine / theirs:6.3f}")
median = statistics.median(mine / theirs for theirs, mine in zip(fio, ours))
best = max(ours) / max(fio)
print(f"ratio: median {median:.3f}, best step against best fio {best:.3f}; wanted: 0.8")
sys.exit(0 if median >= 0.8 else 1)
END
