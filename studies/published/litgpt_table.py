"""Published peaks of fine-tunings with LitGPT, and the same programs on virtual cards.

usage: litgpt_table.py runs PUBLISHED.json OURS.jsonl FOLDER   writes the rows that OURS lacks into files of FOLDER, a file for
                                                               each run of litgpt_tuning.py or lit_gpt_tuning.py; prints a line
                                                               for each: FILE CARD CARDS VERSION BITS (of the weights, 16 or 4)
       litgpt_table.py show PUBLISHED.json OURS.jsonl          both as Markdown
Exit codes: 0 (show: every row ran and is within 1 %), 1 show: one is not, 2 usage.
"""

import json
import sys
from pathlib import Path


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def ours_of(path):
    with open(path, encoding="utf-8") as file:
        return {row["row"]: row for row in map(json.loads, file)}


def name_of(row):
    cards = f", {row['devices']} cards" if "devices" in row else ""
    return f"{row['source']}: {row['what']}, {row['micro']} x {row['length']}{cards}"


def task_of(published, row):
    """Of a step's micro-batches on one card two are run: the second meets gradients, as all later ones do. On several cards all are
    run, because the last one shards the gradients that it meets."""
    total = row.get("global", row["micro"] * (2 if row.get("accumulates", True) else 1))
    chosen = {name: row[name] for name in ("quantize", "devices") if name in row}
    return {"row": name_of(row), "method": row["method"], "model": row["model"], "length": row["length"],
            "settings": {"micro_batch_size": row["micro"], "global_batch_size": total, **chosen,
                         **published["lora"].get(row.get("lora"), {})}}


def runs(published, known, folder):
    """A row of several cards has a run of its own, because LitGPT starts the program again for each further card."""
    tasks = {}
    for row in published["rows"]:
        if name_of(row) not in known:
            cards = row.get("devices", 1)
            key = (published["sources"][row["source"]]["card"], cards, row["version"], 4 if "quantize" in row else 16,
                   name_of(row) if cards > 1 else "")
            tasks.setdefault(key, []).append(task_of(published, row))
    for number, (key, rows) in enumerate(tasks.items()):
        file = Path(folder, f"{number}.jsonl")
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        print(file, *key[:4])
    return 0


def show(published, ours):
    equal = far = 0
    print(f"### {published['title']}, and the same programs on a virtual card\n")
    print("| source | program | cards | rows x tokens | LitGPT | published, GB | ours, GB | difference | note |")
    print("| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | --- |")
    for row in published["rows"]:
        start = f"| {row['source']} | {row['what']} | {row.get('devices', 1)} | {row['micro']} x {row['length']} | {row['version']} |"
        found = ours.get(name_of(row))
        if found is None:
            far += 1
            print(f"{start} {row['published']} | not run | | |")
            continue
        percent = 100 * (float(found["ours"]) / float(row["published"]) - 1)
        equal += found["ours"] == row["published"]
        far += abs(percent) > 1
        difference = "equal" if found["ours"] == row["published"] else f"{percent:+.2f} %"
        print(f"{start} {row['published']} | {found['ours']} | {difference} | {row.get('note', '')} |")
    print(f"\n{equal} of {len(published['rows'])} figures are equal in every printed digit.")
    print(f"{len(published['rows']) - far} are within 1 %. Notes:\n")
    for name, text in published["notes"].items():
        print(f"{name}. {text}.")
    for group in published["not_run"]:
        names = ", ".join(f"{row['what']} {row['published']} GB" for row in group["rows"])
        print(f"\nNot run: {names}. Reason: {group['reason']}.")
    for name, source in published["sources"].items():
        print(f"\nPublished, {name}: {source['text']}.")
    return 1 if far else 0


def main(words):
    if words[:1] == ["runs"] and len(words) == 4:
        return runs(load(words[1]), ours_of(words[2]), words[3])
    if words[:1] == ["show"] and len(words) == 3:
        return show(load(words[1]), ours_of(words[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
