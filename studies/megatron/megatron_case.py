"""Test cases of Megatron-LM: what their golden files say of memory, and how to run them without their data.

usage: megatron_case.py published CHECKOUT KIND/CASE...   prints what the golden files say, as JSON
       megatron_case.py program CHECKOUT KIND/CASE         the script that it runs
       megatron_case.py settings CHECKOUT KIND/CASE        its environment, NAME=VALUE lines
       megatron_case.py words CHECKOUT KIND/CASE           how many words of its vocabulary have to be made up
                                                           (word_piece_data.py); 0: none
       megatron_case.py arguments CHECKOUT KIND/CASE WORK  its flags, a word a line; WORK: a folder for what it writes,
                                                           with the made-up words and data
       megatron_case.py ranks CHECKOUT KIND/CASE           ranks to run: 0, which builds the data set's index, the
                                                           last one, and the one that reads data for the last
       megatron_case.py events CHECKOUT KIND/CASE          when events are done in runs of it (headroom dryrun --events):
                                                           of a pipeline both
       megatron_case.py read FOLDER                        what a run logged of memory (needs tensorboard), as JSON
"""

import glob
import json
import os
import re
import sys

CASES = "tests/functional_tests/test_cases"
WORLD_SIZE = 8
STEPS = 4  # after which Megatron's own short mode of these tests ends (run_ci_test.sh)
PROGRAMS = {"gpt": "pretrain_gpt.py", "bert": "pretrain_bert.py", "t5": "pretrain_t5.py"}
# Their data are not to be had. What stands for them has as many words: GPT-2 50,257 (the null tokenizer
# adds one for the end of a document), BERT 30,522 and, with capitals, 28,996.
MOCK = ("--mock-data", "--tokenizer-type", "NullTokenizer", "--vocab-size", "50256")
WORDS = {"gpt": 0, "bert": 30522, "t5": 28996}
LEFT_OUT = ("--data-path", "--vocab-file", "--merge-file", "--save", "--load")
FIGURES = {"allocated": "mem-allocated-bytes", "peak": "mem-max-allocated-bytes"}


def section(checkout, case, title):
    """Key and value of the lines under `title:` of the case's YAML file, which nests no deeper."""
    path = os.path.join(checkout, CASES, case, "model_config.yaml")
    found, is_in = {}, False
    with open(path, encoding="utf-8") as file:
        for line in file:
            if re.match(r"\S", line):
                is_in = line.startswith(f"{title}:")
            elif is_in and (entry := re.match(r"  ([\w-]+): *(.*?)( +#.*)?$", line)):
                found[entry[1]] = entry[2].strip().strip("\"'")
    return found


def words_of(case):
    return WORDS[case.split("/")[0]]


def arguments(checkout, case, work):
    words = []
    for flag, value in section(checkout, case, "MODEL_ARGS").items():
        if flag in LEFT_OUT or (flag == "--tokenizer-type" and not words_of(case)):
            continue
        if "${" in value:
            value = os.path.join(work, flag.strip("-"))
        words += [flag] if value == "true" else [flag, *value.split()]
    made_up = ("--data-path", f"{work}/data", "--vocab-file", f"{work}/vocab.txt", "--legacy-tokenizer")
    return [*words, *(made_up if words_of(case) else MOCK), "--exit-interval", str(STEPS)]


def ranks(checkout, case):
    tensor = int(section(checkout, case, "MODEL_ARGS").get("--tensor-model-parallel-size", "1"))
    return sorted({0, WORLD_SIZE - tensor, WORLD_SIZE - 1})


def events(checkout, case):
    stages = int(section(checkout, case, "MODEL_ARGS").get("--pipeline-model-parallel-size", "1"))
    return ["done", "late"] if stages > 1 else ["done"]


def ends(golden, name):
    """The first and the last figure of a golden file."""
    values = golden[name]["values"]
    steps = sorted((step for step in values if values[step] != "nan"), key=int)
    return int(values[steps[0]]), int(values[steps[-1]])


def published_case(checkout, case):
    files = []
    for path in sorted(glob.glob(os.path.join(checkout, CASES, case, "golden_values_*.json"))):
        name = os.path.basename(path)[len("golden_values_") : -len(".json")]
        with open(path, encoding="utf-8") as file:
            golden = json.load(file)
        if name.endswith("_2nd") or any(figure not in golden for figure in FIGURES.values()):
            continue  # a second run, which begins at a checkpoint
        figures = {key: ends(golden, figure) for key, figure in FIGURES.items()}
        first = {f"first_{key}": values[0] for key, values in figures.items()}
        files.append({"environment": name, **first, **{key: values[1] for key, values in figures.items()}})
    return {"case": case, "files": files}


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    scalars = {key: [int(one.value) for one in events.Scalars(tag)] for key, tag in FIGURES.items()}
    if len(scalars["peak"]) != STEPS:
        raise SystemExit(f"{folder}: {len(scalars['peak'])} steps are logged, not {STEPS}")
    return {
        **{f"first_{key}": values[0] for key, values in scalars.items()},
        **{key: values[-1] for key, values in scalars.items()},
    }


def main(words):
    match words:
        case ["published", checkout, *cases] if cases:
            print(json.dumps([published_case(checkout, case) for case in cases], indent=1))
        case ["program", _, name] if name.split("/")[0] in PROGRAMS:
            print(PROGRAMS[name.split("/")[0]])
        case ["words", _, name]:
            print(words_of(name))
        case ["settings", checkout, name]:
            print(*(f"{key}={value}" for key, value in section(checkout, name, "ENV_VARS").items()), sep="\n")
        case ["arguments", checkout, name, work]:
            print(*arguments(checkout, name, work), sep="\n")
        case ["ranks", checkout, name]:
            print(*ranks(checkout, name), sep=",")
        case ["events", checkout, name]:
            print(*events(checkout, name))
        case ["read", folder]:
            print(json.dumps(read(folder)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
