"""The eager reference's step, each K of its blocks under torch.utils.checkpoint, not reentrant.

usage: checkpointed_reference.py K, then the peers' flags
"""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "studies/estimators"))
import eager_step
from eager_reference import Transformer
from torch.utils.checkpoint import checkpoint

EVERY = int(sys.argv.pop(1))


def forward(self, tokens_BS):
    def run(x, first):
        for layer in self.layers[first:first + EVERY]:
            x = layer(x, self.rope)
        return x

    x = self.token_embeddings(tokens_BS)
    for first in range(0, len(self.layers), EVERY):
        x = checkpoint(run, x, first, use_reentrant=False)
    x = self.ln_final(x)
    return self.lm_head(x)


Transformer.forward = forward
eager_step.main()
