"""Generated input for torchtitan: a vocabulary of Llama 3's size and a little text.

usage: tiktoken_data.py FOLDER   writes FOLDER/tokenizer.model and FOLDER/tests/assets/c4_test/data.json
"""

import base64
import json
import os
import sys

WORDS, TEXTS = 128000, 400


def main(folder):
    words = [bytes([byte]) for byte in range(256)]
    words += [b"\xff" + number.to_bytes(3, "big") for number in range(WORDS - len(words))]
    with open(os.path.join(folder, "tokenizer.model"), "w", encoding="ascii") as file:
        file.writelines(f"{base64.b64encode(word).decode()} {rank}\n" for rank, word in enumerate(words))
    data = os.path.join(folder, "tests/assets/c4_test")
    os.makedirs(data)
    with open(os.path.join(data, "data.json"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": "words, and words again. " * 60}) + "\n" for _ in range(TEXTS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
