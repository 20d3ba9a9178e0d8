"""Peaks that public training runs of nanoGPT's descendants printed, and the same programs on a virtual card.

usage: logs.py missing PUBLISHED.json OURS.jsonl   prints a line for each run that OURS lacks: RUN TORCH COMMIT. COMMIT is `-` for
                                                   a log of modded-nanogpt, which starts with its whole program
       logs.py program LOG > PROGRAM.py            that program, with 130 steps of training
       logs.py tokens FOLDER                       writes random tokens into FOLDER/data, as files of FineWeb
       logs.py ours RUN PRINTED                    prints the peaks of the text PRINTED as a JSON line
       logs.py show PUBLISHED.json OURS.jsonl      both as Markdown
Exit codes: 0, 2 usage, 3 the text has no peaks.
"""

import array
import json
import random
import re
import sys
from pathlib import Path

# All that a program does at times is in them: its validation every 125 steps, an outer optimizer every 28.
STEPS = 130
END_OF_PROGRAM = "\n" + "=" * 100
END_OF_TEXT = 50256
MAGIC = 20240520
MILLION = 1_000_000
# In millions of tokens: as many as these steps and a validation read.
SIZES = {"fineweb_train_000001.bin": 80, "fineweb_val_000000.bin": 12}
PEAKS = re.compile(r"[Pp]eak memory (?:allocated|usage): ([\d.]+) ?MiB(?: reserved: (\d+) MiB)?")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def ours_of(path):
    with open(path, encoding="utf-8") as file:
        return {row["run"]: row for row in map(json.loads, file)}


def program_of(log):
    """With quotes as Python before 3.12 needs them within an f-string."""
    code, _, _ = Path(log).read_text(encoding="utf-8", errors="replace").partition(END_OF_PROGRAM)
    code = re.sub(r'(f"[^"\n]*\.get\()"filename", "Unknown"(\)\}")', r"\1'filename', 'Unknown'\2", code)
    return re.sub(r"(num_iterations *= *)\d+", rf"\g<1>{STEPS}", code)


def write_tokens(folder):
    """Documents of 20 to 1,800 tokens."""
    source = random.Random(0)
    block = array.array("H")
    while len(block) < MILLION:
        block.append(END_OF_TEXT)
        block.extend(source.choices(range(END_OF_TEXT), k=source.randint(20, 1800)))
    text = block[:MILLION].tobytes()
    target = Path(folder, "data/fineweb10B")
    target.mkdir(parents=True)
    for name, millions in SIZES.items():
        header = array.array("i", [MAGIC, 1, millions * MILLION] + 253 * [0])
        (target / name).write_bytes(header.tobytes() + millions * text)


def difference(theirs, ours):
    return "equal" if theirs == ours else f"{100 * (float(ours) / float(theirs) - 1):+.4f} %"


def show(published, ours):
    print(f"### {published['title']}\n")
    print("| program | run | printed under torch | ours under | allocated, MiB | ours | difference | reserved, MiB | ours | difference |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    counts = {"allocated": [0, 0], "reserved": [0, 0]}
    for row in published["runs"]:
        found = ours.get(row["run"])
        cells = [row["program"], row["name"], row["printed_under"], row["torch"]]
        for what, count in counts.items():
            theirs, mine = row.get(what), found and found[what]
            both = bool(theirs and mine)
            cells += [theirs or "", mine if both else "", difference(theirs, mine) if both else ""]
            count[0] += both
            count[1] += both and theirs == mine
        print("| " + " | ".join(cells) + " |")
    (both, equal), (both_reserved, equal_reserved) = counts.values()
    print(f"\nOf {both} allocated peaks {equal} are equal in every printed digit, of {both_reserved} reserved peaks {equal_reserved}.")
    for text in published["notes"]:
        print(f"\n{text}.")
    print(f"\nPublished: {published['source']}.")


def main(words):
    match words:
        case ["missing", published, ours]:
            known = ours_of(ours)
            for row in load(published)["runs"]:
                if row["run"] not in known:
                    print(row["run"], row["torch"], row.get("commit", "-"))
        case ["program", log]:
            sys.stdout.write(program_of(log))
        case ["tokens", folder]:
            write_tokens(folder)
        case ["ours", name, printed]:
            peaks = PEAKS.findall(Path(printed).read_text(encoding="utf-8", errors="replace"))
            if not peaks:
                return 3
            allocated, reserved = peaks[-1]
            print(json.dumps({"run": name, "allocated": allocated, "reserved": reserved or None}))
        case ["show", published, ours]:
            show(load(published), ours_of(ours))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
