"""Other people's distributed programs, unmodified: the figures that they print beside those they published.

usage: distributed_programs.py find PUBLISHED.json CHECKOUT                  prints whose it is; exit code 2 for nobody's
       distributed_programs.py run PUBLISHED.json HEADROOM PYTHON CHECKOUT [TORCH OURS.json]
                                                                             prints what they print here, as JSON; with TORCH,
                                                                             PYTHON's, beside what OURS has
       distributed_programs.py table PUBLISHED.json OURS.json...             prints both as Markdown
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal


HERE = os.path.dirname(os.path.abspath(__file__))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def program_in(published, checkout):
    for program in published["programs"]:
        if os.path.exists(os.path.join(checkout, program["marker"])):
            return program
    names = ", ".join(program["repository"] for program in published["programs"])
    print(f"'{checkout}' is no checkout of any of these: {names}", file=sys.stderr)
    sys.exit(2)


def as_installed(folder, name):
    """Some ask for their own version."""
    path = os.path.join(folder, f"{name}-0.dist-info")
    os.mkdir(path)
    with open(os.path.join(path, "METADATA"), "w", encoding="utf-8") as file:
        file.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")


def printed_by(command, words, program, headroom, python, checkout, events):
    paths = [os.path.normpath(os.path.join(checkout, path)) for path in program["paths"]]
    paths += [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    with tempfile.TemporaryDirectory() as folder:  # it writes tables of its own where it runs
        for name in program["distributions"]:
            as_installed(folder, name)
        paths.append(folder)
        if "prepare" in command:
            subprocess.run([sys.executable, os.path.join(HERE, command["prepare"]), folder], check=True)
        words = [word.replace("{checkout}", checkout).replace("{lib}", HERE) for word in words]
        done = subprocess.run(
            [headroom, "dryrun", *command["flags"], "--events", events, "--", python, *words],
            cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command['words'])}: {done.stderr.strip()[-2000:]}")
        text = done.stdout + done.stderr
        for path in glob.glob(os.path.join(folder, command["writes"])) if "writes" in command else ():
            with open(path, encoding="utf-8") as file:
                text += file.read()
    return text


def run(published, headroom, python, checkout, is_older=False):
    program = program_in(published, checkout)
    late = {figure["command"] for figure in program["figures"] if figure.get("late") and not is_older}
    figures = [{"what": figure["what"]} for figure in program["figures"]]
    for index, command in enumerate(program["commands"]):
        for key, events in (("ours", "done"), ("late", "late")) if index in late else (("ours", "done"),):
            words = command.get("older_words", command["words"]) if is_older else command["words"]
            text = printed_by(command, words, program, headroom, python, checkout, events)
            for figure, row in zip(program["figures"], figures, strict=True):
                if figure["command"] != index or (key == "late" and not figure.get("late")):
                    continue
                found = re.search(figure["pattern"], text)
                if not found:
                    raise SystemExit(f"{figure['what']}: nothing like {figure['pattern']} was printed")
                row[key] = found[1]
    return {"repository": program["repository"], "figures": figures}


def run_older(published, headroom, python, checkout, torch, ours):
    """What OURS has, with what the programs print under another version of torch."""
    older = {figure["what"]: figure["ours"] for figure in run(published, headroom, python, checkout, True)["figures"]}
    for figure in ours["figures"]:
        figure["under"] = {**figure.get("under", {}), torch: older[figure["what"]]}
    return ours


def in_digits_of(figure, ours):
    """Ours in the unit and with the digits of the published one."""
    places = Decimal(figure["published"]).as_tuple().exponent
    return (Decimal(ours) / figure.get("divisor", 1)).quantize(Decimal(1).scaleb(places))


def as_typed(word):
    word = word.replace("{checkout}/", "").replace("{lib}/", "studies/programs/")
    return f'"{word}"' if " " in word else word


def difference_of(theirs, bounds):
    """Of the nearer bound, where the published figure does not lie between them."""
    if theirs in bounds:
        return "equal" if len(bounds) == 1 else "equal to a bound"
    if bounds[0] < theirs < bounds[-1]:
        return "between"
    nearer = bounds[0] if theirs < bounds[0] else bounds[-1]
    return f"{100 * (nearer - theirs) / theirs:+.3f} %"


def rows(program, ours):
    found = {figure["what"]: figure for figure in ours["figures"]}
    for figure in program["figures"]:
        theirs = Decimal(figure["published"])
        values = [found[figure["what"]][key] for key in ("ours", "late") if key in found[figure["what"]]]
        bounds = sorted({in_digits_of(figure, value) for value in values})
        text = " to ".join(f"{value:,}" for value in bounds)
        yield f"{figure['what']}, {figure['unit']}", f"{theirs:,}", text, difference_of(theirs, bounds)


def older_cells(program, ours):
    """Two cells for each figure: under the publisher's torch, and how far that is from the published one."""
    for figure, found in zip(program["figures"], ours["figures"], strict=True):
        value = found.get("under", {}).get(program.get("torch"))
        digits = None if value is None else in_digits_of(figure, value)
        yield ("-", "-") if value is None else (f"{digits:,}", difference_of(Decimal(figure["published"]), [digits]))


def table(published, all_ours):
    for ours in all_ours:
        program = next(one for one in published["programs"] if one["repository"] == ours["repository"])
        print(f"### {program['repository']}\n")
        is_older = any("under" in figure for figure in ours["figures"])
        head = ("figure", "published", *([f"torch {program['torch']}", "difference"] if is_older else []))
        head += ("torch 2.11" if is_older else "ours", "difference")
        print("| " + " | ".join(head) + " |\n| --- |" + " ---: |" * (len(head) - 1))
        for (what, theirs, *mine), older in zip(rows(program, ours), older_cells(program, ours), strict=True):
            print("| " + " | ".join([what, theirs, *(older if is_older else ()), *mine]) + " |")
        commands = program.get("command") or "; ".join(
            f"headroom dryrun {' '.join(one['flags'])} -- python {' '.join(map(as_typed, one['words']))}"
            for one in program["commands"]
        )
        for line in (f"Published: {program['source']}", *program.get("causes", ()), f"Ours: {commands}."):
            print(f"\n{line}")
        print()


def main(words):
    match words:
        case ["run", published, headroom, python, checkout]:
            print(json.dumps(run(load(published), headroom, python, os.path.abspath(checkout)), indent=1))
        case ["run", published, headroom, python, checkout, torch, ours]:
            done = run_older(load(published), headroom, python, os.path.abspath(checkout), torch, load(ours))
            print(json.dumps(done, indent=1))
        case ["find", published, checkout]:
            print(program_in(load(published), checkout)["repository"])
        case ["table", published, *ours] if ours:
            table(load(published), [load(path) for path in ours])
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
