"""The programs of a book's repository, as its documents printed their memory.

usage: programs.py write CHECKOUT PUBLISHED NAME FOLDER     writes the program of that row into FOLDER, with input for it
       programs.py read PUBLISHED NAME OUTPUT TORCH         prints the row with the figures that OUTPUT has, as JSON
       programs.py table PUBLISHED ROWS                     prints the table of these rows, a JSON a line

A row "after K changes" is a state between two published programs, for which the book gives the changes in words; each
is made here by a replacement. Two things are not the publisher's, because this machine has no network: the tokenizer
(four characters a token) and the text (as many tokens). Memory depends on neither.
"""

import json
import re
import sys
from pathlib import Path

TOKENIZER = '''class Encoding:
    def encode(self, text, **_):
        return [sum(text[i:i + 4].encode()) for i in range(0, len(text), 4)]

    def decode(self, tokens):
        return "word " * len(tokens)


def get_encoding(name):
    return Encoding()
'''
TEXT = "the quick brown fox jumps over the lazy dog and so on, "
CHARACTERS = 1_908_500  # 52 steps of 8 rows in one epoch, as the log counts them

CHANGES = [
    [('        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))\n', ""),
     ("self.mask.bool()[:num_tokens, :num_tokens]",
      "torch.triu(torch.ones(num_tokens, num_tokens, device=x.device), diagonal=1).bool()")],
    [("    torch.manual_seed(123)\n", '    torch.manual_seed(123)\n    torch.set_float32_matmul_precision("high")\n')],
    [('weight_decay=settings["weight_decay"]\n', 'weight_decay=settings["weight_decay"], fused=True\n')],
    [("num_workers=num_workers)", "num_workers=num_workers, pin_memory=True)")],
    [("    model.to(device)  #", "    model.to(device).to(torch.bfloat16)  #")],
    [("LayerNorm", None), ("GELU", None), ("= LayerNorm(", "= nn.LayerNorm("),
     ("            GELU(),", '            nn.GELU(approximate="tanh"),')],
    [("MultiHeadAttention", "PyTorchMultiHeadAttention"), ("self.att = Multi", "self.att = PyTorchMulti"),
     ('            context_length=cfg["context_length"],\n', "")],
    [("    model.to(device).to(", "    model = torch.compile(model)\n    model.to(device).to(")],
    [('"vocab_size": 50257', '"vocab_size": 50304')],
]


def place_of_class(text, name):
    start = text.index(f"class {name}(")
    ends = [text.find(mark, start) for mark in ("\nclass ", "\n####", "\ndef ")]
    return start, min(end for end in ends if end > 0) + 1


def replaced(text, old, new, last):
    """A class goes (None), or one of the last program takes its place; other words are replaced."""
    if not old.isidentifier():
        if old not in text:
            raise ValueError(f"the program has no {old!r}")
        return text.replace(old, new)
    begin, end = place_of_class(text, old)
    if new is not None:
        other = place_of_class(last, new)
        new = last[other[0] : other[1]]
    return text[:begin] + (new or "") + text[end:]


def row_of(published, name):
    rows = json.loads(Path(published).read_text())["rows"]
    return next(row for row in rows if row["name"] == name)


def write(checkout, published, name, folder):
    row = row_of(published, name)
    text = Path(checkout, row["file"]).read_text()
    changes = row.get("changes", 0)
    last = Path(checkout, row["last"]).read_text() if changes else ""
    for pairs in CHANGES[:changes]:
        for old, new in pairs:
            text = replaced(text, old, new, last)
    text = text.replace('"num_epochs": 15', '"num_epochs": 1')  # memory is that of the first epoch
    Path(folder, Path(row["file"]).name).write_text(text)
    Path(folder, "tiktoken.py").write_text(TOKENIZER)
    Path(folder, "middlemarch.txt").write_text((TEXT * (CHARACTERS // len(TEXT) + 1))[:CHARACTERS])


def read(published, name, output, torch):
    row = row_of(published, name)
    ours = {}
    for words in row["figures"]:
        found = re.findall(rf"{words}: ([0-9.]+) GB", Path(output).read_text())
        ours[words] = float(found[-1]) if found else None
    print(json.dumps({"name": name, "torch": torch, "figures": ours}))


def table(published, rows):
    known = json.loads(Path(published).read_text())
    ours = {row["name"]: row for row in map(json.loads, Path(rows).read_text().splitlines())}
    print("### A book's programs, and the memory that they printed\n")
    print("| program | torch | figure | published, GB | ours, GB | difference |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for row in known["rows"]:
        if row["name"] not in ours:
            continue
        for words, figure in row["figures"].items():
            mine = ours[row["name"]]["figures"][words]
            difference = "no figure" if mine is None else "0" if mine == figure else f"{(mine / figure - 1) * 100:+.2f} %"
            note = f" ({row['cause']})" if difference != "0" and "cause" in row else ""
            print(f"| {row['name']} | {ours[row['name']]['torch']} | {words.lower()} | {figure} | {mine} | {difference}{note} |")
    for number, cause in enumerate(known["causes"], 1):
        print(f"\n{number}. {cause}")
    print(f"\n{known['source']}")


if __name__ == "__main__":
    commands = {"write": (write, 4), "read": (read, 4), "table": (table, 2)}
    command, arguments = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + arguments:
        sys.exit(__doc__)
    command(*sys.argv[2:])
