"""A vocabulary and a small data set for Megatron-LM's BERT and T5, whose own data are not to be had.

usage: word_piece_data.py CHECKOUT FOLDER WORDS   writes FOLDER/vocab.txt with WORDS words, FOLDER/data.bin and .idx

What they say does not matter: every batch has the shape that the flags give it.
"""

import os
import sys

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# So many that two of them are 9 parts of 99,982 (T5's --split).
DOCUMENTS, SENTENCES, LENGTH = 25000, 4, 40


def main(checkout, folder, words):
    sys.path.insert(0, checkout)
    import numpy
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

    words = int(words)
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{word}\n" for word in [*SPECIAL, *(f"w{n}" for n in range(words - len(SPECIAL)))])
    stem = os.path.join(folder, "data")
    builder = IndexedDatasetBuilder(stem + ".bin", dtype=numpy.int32)
    torch.manual_seed(0)
    for ids in torch.randint(len(SPECIAL), words, (DOCUMENTS, SENTENCES * LENGTH)):
        builder.add_document(ids, [LENGTH] * SENTENCES)
    builder.finalize(stem + ".idx")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
