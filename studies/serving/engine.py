"""Starts of vLLM on virtual cards: their figures, as the engine prints them."""

import json
import os
import re
import subprocess
import tempfile

FIGURES = {
    "weights_gib": r"Model loading took ([\d.]+) GiB",
    "activations_gib": r"torch peak memory increase: ([\d.]+)GiB",
    "outside_gib": r"non-torch forward increase memory: (-?[\d.]+)GiB",
    "cache_gib": r"Available KV cache memory: (-?[\d.]+) GiB",
    "graphs_gib": r"Graph capturing finished in [\d.]+ secs?, took (-?[\d.]+) GiB",
    "tokens": r"GPU KV cache size: ([\d,]+) tokens",
    "longest": r"estimated maximum model length is (\d+)",
    "vllm": r"LLM engine \(v([\w.+]+)\)",
    "request": r"the request ended: (\d+) tokens of a prompt",
    "level_1_gib": r"Sleep mode freed ([\d.]+) GiB",
    "level_2_gib": r"(?s)Sleep mode freed .*Sleep mode freed ([\d.]+) GiB",
    "exit_code": r"\nexit code (-?\d+)\n",
}
HERE = os.path.dirname(os.path.abspath(__file__))


def shape(name):
    return os.path.join(HERE, "../../recipes/models", name + ".json")


def changed(job, path):
    """The path of the job's config.json; `path` is written if fields of it change."""
    if not job.get("changes"):
        return os.path.abspath(job["config"])
    save(path, {**load(job["config"]), **job["changes"]})
    return path


def environment_of(job, cache):
    return {**job.get("environment", {}), **({"VLLM_CACHE_ROOT": cache} if job.get("first") else {})}


def start_all(headroom, python, card, count, jobs):
    """Yields (name, figures by name, log) of each job in turn, all on `count` of this card.

    jobs: name to {"config": path of a config.json, "changes" of its fields, "flags", "environment", "answer": tokens,
    "first": True for an engine that finds none of its code compiled}.
    """
    recipe = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(headroom))), "lib/recipes/vllm_recipe.py")
    with tempfile.TemporaryDirectory() as folder:
        work = [
            {"words": ["--shape", changed(job, os.path.join(folder, f"{place}.json")), "--answer", str(job.get("answer", 8)), *job.get("flags", ())],
             "environment": environment_of(job, os.path.join(folder, f"{place}.cache")), "log": os.path.join(folder, f"{place}.log")}
            for place, job in enumerate(jobs.values())
        ]
        path = os.path.join(folder, "jobs.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(work, file)
        program = subprocess.Popen([headroom, "dryrun", "--card", card, "--count", str(count), "--skip-host-init", "--", python,
                                    os.path.join(HERE, "forked.py"), recipe, path], stdout=subprocess.PIPE, text=True)
        for name, job in zip(jobs, work):
            if not any(line.startswith("forked: ") for line in program.stdout):
                break
            with open(job["log"], encoding="utf-8", errors="replace") as file:
                text = file.read()
            yield name, {key: match[1].replace(",", "") for key, pattern in FIGURES.items() if (match := re.search(pattern, text))}, text
        program.wait()


def load(path, otherwise=None):
    if otherwise is not None and not os.path.exists(path):
        return otherwise
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, data):
    with open(path + ".partial", "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    os.replace(path + ".partial", path)
