"""The first sets of several answers of `headroom fit`, as one Markdown table.

usage: fit_table.py FIT.json...
Of a card on which nothing fits it is the set that needs least, with what the card lacks.
"""

import json
import sys

GIB = 1 << 30
SETS = 2  # of each card
HEAD = ["run", "card", "cheapest sets that fit", "peak, GiB", "to spare, GiB", "host memory, GiB"]


def gib(count):
    return f"{count / GIB:.2f}"


def words(answer):
    return ", ".join(answer["names"]) or "nothing"


def asked(document):
    given = document["asked"]
    return f"{given['model_size']}, batch {given['batch_size']}, context {given['context_length']}"


def row(document, card, answer):
    fits = answer["status"] == "ok"
    name = words(answer) if fits else f"none; least needs {words(answer)}"
    peak = answer["peak_allocated_bytes"] if fits else answer["predicted_bytes"]
    spare = answer["margin_bytes"] if fits else -answer["short_by_bytes"]
    return [asked(document), card["name"], name, gib(peak), gib(spare), gib(answer["predicted_host_bytes"])]


def rows(document):
    for card in document["smaller_cards"]:
        yield row(document, card, card["nearest"])
    if document["nearest"]:
        yield row(document, document["card"], document["nearest"])
    for answer in document["answers"][:SETS]:
        yield row(document, document["card"], answer)


def main():
    print("| " + " | ".join(HEAD) + " |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for cells in rows(json.load(file)):
                print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
