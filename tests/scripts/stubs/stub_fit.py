"""Stands in for `headroom fit`: one set that fits, or, where STUB_FIT is a number, that exit code and no set."""

import json
import os
import sys


def main():
    flags = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    with open(os.environ["STUB_LOG"] + ".fit", "a", encoding="utf-8") as log:
        log.write(" ".join(sys.argv[1:]) + "\n")
    code = int(os.environ.get("STUB_FIT", "0"))
    if code not in (0, 4):
        return code
    if "--output" in flags and code == 0:
        with open(flags["--output"], "w", encoding="utf-8") as file:
            file.write("<svg/>\n")
    one = {"names": ["adam8bit"], "predicted_bytes": 3 << 30, "predicted_host_bytes": 1 << 29}
    fits = one | {"status": "ok", "peak_allocated_bytes": 2 << 30, "margin_bytes": 1 << 30}
    asked = {name: flags["--" + name.replace("_", "-")] for name in ("model_size", "batch_size", "context_length")}
    document = {
        "asked": asked,
        "host_limit_bytes": 32 << 30 if "--host-memory" in flags else None,
        "card": {"name": flags["--card"].split(",")[-1]},
        "smaller_cards": [],
        "answers": [] if code else [fits],
        "nearest": one | {"status": "oom", "short_by_bytes": 1 << 30} if code else None,
    }
    print(json.dumps(document) if flags["--format"] == "json" else "### Cheapest sets that fit")
    return code


if __name__ == "__main__":
    sys.exit(main())
