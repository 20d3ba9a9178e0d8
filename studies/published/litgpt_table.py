"""Published peaks of fine-tunings with LitGPT, and the same programs on virtual cards.

usage: litgpt_table.py rows PUBLISHED.json OURS.jsonl CARD VERSION   the rows of that card and version of LitGPT that
                                                                     OURS lacks, for litgpt_tuning.py or lit_gpt_tuning.py
       litgpt_table.py show PUBLISHED.json OURS.jsonl                both as Markdown
Exit codes: 0 (show: every row ran and is within 1 %), 1 show: one is not, 2 usage.
"""

import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def ours_of(path):
    with open(path, encoding="utf-8") as file:
        return {row["row"]: row for row in map(json.loads, file)}


def name_of(row):
    return f"{row['source']}: {row['what']}, {row['micro']} x {row['length']}"


def rows(published, known, card, version):
    """Of a step's micro-batches two are run: the second meets gradients, as all later ones do."""
    for row in published["rows"]:
        if name_of(row) in known or published["sources"][row["source"]]["card"] != card:
            continue
        if row.get("version", "0.4.13") != version:
            continue
        total = row["micro"] * (2 if row.get("accumulates", True) else 1)
        print(json.dumps({
            "row": name_of(row), "method": row["method"], "model": row["model"], "length": row["length"],
            "settings": {"micro_batch_size": row["micro"], "global_batch_size": total,
                         **published["lora"].get(row.get("lora"), {})}}))
    return 0


def show(published, ours):
    equal = far = 0
    print(f"### {published['title']}, and the same programs on a virtual card\n")
    print("| source | program | rows x tokens | published, GB | ours, GB | difference | note |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    for row in published["rows"]:
        found = ours.get(name_of(row))
        if found is None:
            far += 1
            print(f"| {row['source']} | {row['what']} | {row['micro']} x {row['length']} | {row['published']} | not run | | |")
            continue
        percent = 100 * (float(found["ours"]) / float(row["published"]) - 1)
        equal += found["ours"] == row["published"]
        far += abs(percent) > 1
        difference = "equal" if found["ours"] == row["published"] else f"{percent:+.2f} %"
        print(f"| {row['source']} | {row['what']} | {row['micro']} x {row['length']} | {row['published']} | {found['ours']} "
              f"| {difference} | {row.get('note', '')} |")
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
    if words[:1] == ["rows"] and len(words) == 5:
        return rows(load(words[1]), ours_of(words[2]), *words[3:])
    if words[:1] == ["show"] and len(words) == 3:
        return show(load(words[1]), ours_of(words[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
