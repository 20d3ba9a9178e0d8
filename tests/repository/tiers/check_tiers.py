#!/usr/bin/env python3
"""Every test has a tier and a TIMEOUT; `unit` tests are of the tier that CI runs.

usage: check_tiers.py CTEST BUILD_DIR [SLOWER]

Reads what CTest would run, without and with -C nightly. A test without a TIMEOUT hangs for 25
minutes; one without a tier is run by nobody, or by everybody. SLOWER: how often the usual TIMEOUT is allowed (1).
"""

import json
import subprocess
import sys

TIERS = {"pr", "nightly"}
LONGEST = {"pr": 900, "nightly": 7200}  # seconds


def tests_of(ctest, folder, *words):
    """Name: properties, of what CTest would run."""
    done = subprocess.run([ctest, "--test-dir", folder, "--show-only=json-v1", *words],
                          capture_output=True, text=True, check=True)
    tests = json.loads(done.stdout)["tests"]
    return {test["name"]: {p["name"]: p["value"] for p in test.get("properties", [])}
            for test in tests}


def faults(name, properties, runs_in_ci, slower):
    labels = set(properties.get("LABELS", []))
    tier = "pr" if runs_in_ci else "nightly"
    if labels & TIERS != {tier}:
        found = ", ".join(sorted(labels & TIERS)) or "none"
        yield f"{name}: its tier is {found}, and it runs as {tier}"
    if "unit" in labels and not runs_in_ci:
        yield f"{name}: unit, and CI does not run it"
    seconds = properties.get("TIMEOUT", 0)
    longest = LONGEST[tier] * slower
    if not 0 < seconds <= longest:
        yield f"{name}: a TIMEOUT of {seconds:g} s; more than 0 and at most {longest} is allowed"


def main():
    ctest, folder = sys.argv[1:3]
    slower = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    in_ci = tests_of(ctest, folder)
    at_night = tests_of(ctest, folder, "-C", "nightly")
    lines = [line for name, properties in at_night.items()
             for line in faults(name, properties, name in in_ci, slower)]
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{len(in_ci)} tests in pr, {len(at_night) - len(in_ci)} more in nightly")
    return 1 if lines or not in_ci or len(at_night) <= len(in_ci) else 0


if __name__ == "__main__":
    sys.exit(main())
