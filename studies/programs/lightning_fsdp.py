"""Runs the program of Lightning's guide to FSDP, taken out of the guide, for ten steps that save nothing.

usage: lightning_fsdp.py GUIDE.rst STRATEGY      STRATEGY: ddp, or a sharding strategy of FSDPStrategy

With a sharding strategy every encoder and decoder layer is wrapped, as the guide says under
"Identify large layers". The text that it trains on is made up: as many words as WikiText-2 has.
"""

import os
import re
import sys
import textwrap

WORDS = 33278  # of WikiText-2, the end of a line among them
STEPS = 10
LAYERS = "{nn.TransformerEncoderLayer, nn.TransformerDecoderLayer}"
CHANGED = "strategy=FSDPStrategy()"


def program_of(guide, strategy):
    """The code block that prints the card's memory at its end."""
    with open(guide, encoding="utf-8") as file:
        blocks = re.findall(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)", file.read())
    found = [textwrap.dedent(block) for block in blocks if "memory_summary" in block]
    if len(found) != 1 or found[0].count(CHANGED) != 1:
        sys.exit(f"{guide} has no one program with {CHANGED}")
    asked = f'FSDPStrategy(auto_wrap_policy={LAYERS}, sharding_strategy="{strategy}")'
    asked = '"ddp"' if strategy == "ddp" else asked
    ending = f"max_steps={STEPS}, enable_checkpointing=False, logger=False"
    return found[0].replace(CHANGED, f"strategy={asked}, {ending}")


def write_words(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    words = [f"word{number}" for number in range(WORDS - 1)]
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
        for first in range(0, len(words), 40):
            print(*words[first : first + 40], file=file)
    os.replace(file.name, path)  # every rank writes it


def main(words):
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    write_words("data/wikitext-2.txt")
    exec(compile(program_of(*words), words[0], "exec"), {"__name__": "__main__"})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
