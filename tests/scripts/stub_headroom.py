#!/usr/bin/env python3
"""Stands in for the headroom program: same flags and exit codes, no model.

STUB_FAIL: name of the cell that runs out of memory. STUB_TABLE_EXIT: exit code of `table`. STUB_LOG: one line per cell that
ran. Cells that are in --records already do not run again.
"""
import itertools
import json
import os
import pathlib
import sys

command, flags, words = sys.argv[1], {}, []
rest = iter(sys.argv[2:])
for word in rest:
    if word.startswith("--"):
        flags[word] = next(rest)
    else:
        words.append(word)


def sweep():
    if flags["--model-size"] not in {"small", "2.7B"}:
        print(f"--model-size '{flags['--model-size']}' is unknown", file=sys.stderr)
        return 2
    records = pathlib.Path(flags["--records"])
    done = {json.loads(line)["name"]: line for line in records.read_text().splitlines()} if records.exists() else {}
    lists = (flags[flag].split(",") for flag in ("--context-length", "--profile-type", "--precision"))
    statuses = []
    for context, mode, precision in itertools.product(*lists):
        name = f"{flags['--model-size']}_ctx{context}_{mode}_{precision}_device-{flags['--device']}"
        if name not in done:
            failed = name == os.environ.get("STUB_FAIL")
            snapshot = pathlib.Path(flags["--snapshot-dir"], f"{name}_snapshot.pickle")
            if not failed:
                snapshot.write_text(name)
            spec = {"model_size": flags["--model-size"], "context_length": int(context), "profile_type": mode,
                    "precision": precision, "snapshot": str(snapshot)}
            done[name] = json.dumps({"name": name, "status": "oom" if failed else "ok", "spec": spec,
                                     "reason": "8 GiB asked, 4 GiB free" if failed else ""})
            with records.open("a") as file:
                file.write(done[name] + "\n")
            with open(os.environ["STUB_LOG"], "a") as file:
                file.write(name + "\n")
        statuses.append(json.loads(done[name])["status"])
        print(done[name])
    return 0 if set(statuses) == {"ok"} else 3 if "ok" in statuses else 4


def main():
    if command == "sweep":
        return sweep()
    if command == "table" and os.environ.get("STUB_TABLE_EXIT"):
        print("half a ta", end="")
        return int(os.environ["STUB_TABLE_EXIT"])
    for file in words[1:]:
        pathlib.Path(file).read_bytes()
    print(command, *words[:1], *(f"{flag} {value}" for flag, value in flags.items()))
    return 0


sys.exit(main())
