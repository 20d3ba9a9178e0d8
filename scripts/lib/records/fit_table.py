"""The cheapest sets of several answers of `headroom fit`, as one Markdown table.

usage: fit_table.py FIT.json...
Of a card on which nothing fits it is the set that needs least, with what the card lacks. A Record of
`headroom profile` among them is a configuration that somebody gave for the card, with what it lacks.
"""

import json
import sys

GIB = 1 << 30
FIRST_SETS = 2  # of the first answer; of the others one
HEAD = ["run", "card", "cheapest sets that fit", "peak, GiB", "to spare, GiB", "host memory, GiB", "disk, GiB"]


def gib(count):
    return f"{count / GIB:.2f}"


def words(answer):
    return ", ".join(answer["names"]) or "nothing"


def asked(document):
    given = document["asked"]
    run = f"{given['model_size']}, batch {given['batch_size']}, context {given['context_length']}"
    limit = document["host_limit_bytes"]
    return run if limit is None else f"{run}, a host of {limit / GIB:g} GiB and a disk"


def row(document, card, answer):
    fits = answer["status"] == "ok"
    name = words(answer) if fits else f"none; least needs {words(answer)}"
    peak = answer["peak_allocated_bytes"] if fits else answer["predicted_bytes"]
    spare = answer["margin_bytes"] if fits else -answer["short_by_bytes"]
    beside = [gib(answer.get(key, 0)) for key in ("predicted_host_bytes", "predicted_disk_bytes")]
    return [asked(document), card["name"], name, gib(peak), gib(spare), *beside]


def given_row(record):
    spec, card = record["spec"], record["environment"]["virtual_card"]
    parts = f" in {spec['micro_batches']} parts" if spec["micro_batches"] > 1 else ""
    run = f"{spec['model_size']}, batch {spec['batch_size']}{parts}, context {spec['context_length']}"
    names = [f"{spec['weights'].upper()} weights", spec["optimizer"], f"checkpoint {spec['checkpoint']}",
             f"{spec['attention']} attention"]
    peak = record["peak_allocated_bytes"]
    spare = card["real_total_bytes"] - card["context_bytes"] - peak
    return [run, card["card"], "a guide's: " + ", ".join(names), gib(peak), gib(spare), gib(0), gib(0)]


def rows(document, sets):
    if "spec" in document:
        yield given_row(document)
        return
    for card in document["smaller_cards"]:
        yield row(document, card, card["nearest"])
    if document["nearest"]:
        yield row(document, document["card"], document["nearest"])
    for answer in document["answers"][:sets]:
        yield row(document, document["card"], answer)


def main():
    print("| " + " | ".join(HEAD) + " |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for cells in rows(json.load(file), FIRST_SETS if path == sys.argv[1] else 1):
                print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
