"""Runs the recipe of vLLM several times, each in a fork of this process, which has imported vLLM once.

usage: forked.py RECIPE JOBS.json, under headroom dryrun
A job: its "words", its "environment" and its "log", a file that gets what it prints and its exit code. A line
"forked: LOG" on stdout says that it has ended.
"""

import json
import os
import runpy
import sys
import time
import traceback

MOST_SECONDS = 900


def run(recipe, job):
    """In the child."""
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.environ.update(job["environment"])
    sys.argv = [recipe, *job["words"]]
    sys.path.insert(0, os.path.dirname(recipe))  # as for a program that Python starts
    try:
        runpy.run_path(recipe, run_name="__main__")
        return 0
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1


def wait(child):
    """Its exit code; 124 after too long."""
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return 124


def main():
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "DEBUG")  # as the recipe does
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    import vllm.v1.engine.llm_engine  # noqa: F401

    with open(sys.argv[2], encoding="utf-8") as file:
        jobs = json.load(file)
    for job in jobs:
        child = os.fork()
        if child == 0:
            code = run(sys.argv[1], job)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        with open(job["log"], "a", encoding="utf-8") as log:
            log.write(f"\nexit code {wait(child)}\n")
        print(f"forked: {job['log']}", flush=True)


if __name__ == "__main__":  # its children's processes import this file
    main()
