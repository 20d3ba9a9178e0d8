"""Stands in for `headroom sweep`: same flags, Records and exit codes, no model.

STUB_FAIL: name of the cell that is killed; STUB_OOM: that runs out of memory. STUB_CRASH: the sweep
itself dies before that cell. STUB_LOG: gets one line per cell that ran. STUB_CPU: its capability. STUB_REFUSES: a --precision
that is refused. STUB_SECONDS: a pause before the first. Cells that --records holds as ok do not run
again. A cell is named by its axes and by the settings that it has beyond them.
"""
import itertools
import json
import os
import pathlib
import sys
import time

words = [part for word in sys.argv[1:] for part in (word.split("=", 1) if word.startswith("--") else (word,))]
flags = dict(zip(words[::2], words[1::2], strict=True))
flags.setdefault("--precision", "fp32")
axes = ("--model-size", "--context-length", "--profile-type", "--precision")


techniques = ("--attention", "--recompute", "--activations", "--optimizer", "--param-dtype", "--master-weights",
              "--rounding", "--micro-batches", "--release-gradients", "--max-grad-norm")
# Figures that the table of techniques reads.
FIGURES = {"peak_allocated_bytes": 1 << 31, "category_peak_bytes": {"parameters": 400, "optimizer_state": 800},
           "saved_bytes": 1000, "predicted": {"parameters": 400}, "losses": [2.0, 1.5],
           "environment": {"device_name": "a card", "cpu_capability": os.environ.get("STUB_CPU", "AVX512")}}


def spec_of(size, context, mode, precision):
    return {
        "model_size": size,
        "context_length": int(context),
        "profile_type": mode,
        "precision": precision,
        "device": flags["--device"],
        "batch_size": 4,
        "d_model": 256,
        "layers": 8,
        "tokens": flags.get("--tokens", ""),
    }


def sweep():
    time.sleep(float(os.environ.get("STUB_SECONDS", "0")))
    known = {"small", "medium", "large", "xl", "2.7B", "10B", "custom"}
    for size in flags["--model-size"].split(","):
        if size not in known:
            print(f"--model-size '{size}' is unknown", file=sys.stderr)
            return 2
    if flags["--precision"] == os.environ.get("STUB_REFUSES"):
        print(f"--precision '{flags['--precision']}' is refused", file=sys.stderr)
        return 2
    records = pathlib.Path(flags["--records"])
    lines = records.read_text().splitlines() if records.exists() else []
    done = {json.loads(line)["name"]: line for line in lines if json.loads(line)["status"] == "ok"}
    lists = (flags[axis].split(",") for axis in axes)
    statuses = []
    for size, context, mode, precision in itertools.product(*lists):
        name = f"{size}_ctx{context}_{mode}_{precision}_device-{flags['--device']}"
        name += "".join(f"_{flags[flag]}" for flag in techniques if flag in flags)
        if name == os.environ.get("STUB_CRASH"):
            return 5
        if name not in done:
            failed = name == os.environ.get("STUB_FAIL")
            snapshot = pathlib.Path(flags.get("--snapshot-dir", ""), f"{name}_snapshot.pickle")
            if not failed and "--snapshot-dir" in flags:
                snapshot.write_text(name)
            spec = {**spec_of(size, context, mode, precision), "snapshot": str(snapshot)}
            status, reason = ("killed", "killed by signal 9") if failed else ("ok", "")
            if name == os.environ.get("STUB_OOM"):
                status, reason = "oom", "CUDA out of memory"
            steps = [] if flags["--device"].startswith("virtual:") else [10.0]
            done[name] = json.dumps({"name": name, "status": status, "spec": spec, "reason": reason,
                                     "step_ms": steps, **FIGURES})
            with records.open("a") as file:
                file.write(done[name] + "\n")
            with open(os.environ["STUB_LOG"], "a") as file:
                file.write(name + "\n")
        statuses.append(json.loads(done[name])["status"])
        print(done[name])
    return 0 if set(statuses) == {"ok"} else 3 if "ok" in statuses else 4


sys.exit(sweep())
