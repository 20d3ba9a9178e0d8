"""Runs the engines of public logs of vLLM on virtual cards, and prints both figures, as Markdown.

usage: logs.py LOGS.json OURS.json HEADROOM PYTHON [NAME...]   runs the rows (of these names), keeps the others
       logs.py --table LOGS.json OURS.json                     prints the table only
PYTHON has vLLM (recipes/install.sh serve). A row without a card or a shape is not run.
Exit codes: 0, 2 usage, 5 a row did not start (its last lines are on stderr).
"""

import sys
from decimal import Decimal

import engine


def can_run(row):
    return "card" in row and "config" in row


def percent(ours, published):
    return f"{100 * (Decimal(ours) / Decimal(str(published)) - 1):+.1f} %"


def cell(row, ours, name):
    """Published, ours, and how far ours is from it."""
    published = row["printed"].get(name)
    mine = ours.get(row["name"], {}).get(name)
    if published is None:
        return "" if mine is None else f"({int(mine):,})" if name == "tokens" else f"({mine})"
    shown = f"{published:,}" if isinstance(published, int) else published
    if mine is None:
        return shown
    if name == "weights_gib":
        digits = len(published.partition(".")[2])
        return f"{shown}, equal" if f"{Decimal(mine):.{digits}f}" == published else f"{shown}, ours {mine}"
    mine_shown = f"{int(mine):,}" if isinstance(published, int) else mine
    return f"{shown}, ours {mine_shown} ({percent(mine, published)})"


def table(data, ours):
    numbers = {name: place + 1 for place, name in enumerate(data["sources"])}
    lines = ["### Public logs of vLLM, and ours\n", f"Written by `studies/serving/logs.py`. {data['note']}",
             "A figure in brackets is ours alone. `ours`: from a virtual card, weights at random.\n",
             "| log | vLLM | weights, GiB | cache, GiB | tokens | longest | waits | source |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in data["logs"]:
        mine = ours.get(row["name"], {})
        version = row["vllm"] + (f", ours {mine['vllm']}" if mine and mine.get("vllm") != row["vllm"] else "")
        cells = [cell(row, ours, name) for name in ("weights_gib", "cache_gib", "tokens", "longest")]
        lines.append("| " + " | ".join([row["name"], version, *cells, row.get("waits", ""), f"[{numbers[row['source']]}]"]) + " |")
    causes = [f"{place + 1}. {text}" for place, text in enumerate(data.get("causes", ()))]
    if causes:
        lines += ["", "#### Causes\n", *causes]
    return "\n".join([*lines, "", "#### Sources\n", *(f"{numbers[name]}. {text}" for name, text in data["sources"].items())]) + "\n"


def groups(rows):
    """Rows by their cards, to be started together."""
    found = {}
    for row in rows:
        found.setdefault((row["card"], row.get("count", 1)), {})[row["name"]] = {
            "config": engine.shape(row["config"]), "changes": row.get("changes"), "flags": row.get("flags", ()),
            "environment": row.get("environment", {}), "first": row.get("start") == "first", "answer": 0}
    return found


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--table":
        print(table(engine.load(sys.argv[2]), engine.load(sys.argv[3], {})), end="")
        return 0
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    logs, path, headroom, python = sys.argv[1:5]
    data, ours, status = engine.load(logs), engine.load(path, {}), 0
    rows = [row for row in data["logs"] if can_run(row) and (not sys.argv[5:] or row["name"] in sys.argv[5:])]
    for (card, count), jobs in groups(rows).items():
        for name, found, text in engine.start_all(headroom, python, card, count, jobs):
            if "cache_gib" in found:
                ours[name] = found
                engine.save(path, ours)
            else:
                sys.stderr.write(f"{name}: " + "\n".join(text.splitlines()[-15:]) + "\n")
                status = 5
    print(table(data, ours), end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
