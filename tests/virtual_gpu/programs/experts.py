"""Training steps of small mixtures of experts: experts.py LIBRARY[,LIBRARY...] [--forced RULE...].

For each: the rows that the experts' products get, and the bytes that autograd saves. LIBRARY: eager (transformers' loop
over experts), grouped_mm (its grouped product), masks (as Megatron-core: a map of tokens and experts), counts (as
torchtitan: a histogram and a sort), checkpointed (counts, computed again in backward). --forced balanced worst runs on
the CPU, once by each rule, with torch.topk replaced: the truth.
"""

import sys

import torch
from torch.utils.checkpoint import checkpoint

EXPERTS, SELECTED, WIDTH, VOCABULARY = 32, 2, 32, 128
TOKENS = 16384  # a map of tokens and experts has more than 1 MiB


select = torch.topk


def force(rule):
    """The same selection where values are real."""

    def forced(scores, k, dim=-1, **settings):
        values, indices = select(scores, k, dim=dim, **settings)
        order = torch.arange(indices.numel()).view(indices.shape)
        return torch.return_types.topk((values, order % (k if rule == "worst" else scores.shape[-1])))

    torch.topk = forced


def mixtral(implementation):
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(num_local_experts=EXPERTS, num_experts_per_tok=SELECTED, vocab_size=VOCABULARY,
                           hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
                           num_key_value_heads=2, attn_implementation="eager")
    config._experts_implementation = implementation
    model = MixtralForCausalLM(config).to(torch.bfloat16)
    return model, lambda ids: model(ids, labels=ids).loss


class Masks(torch.nn.Module):
    """Tokens are moved by a map of tokens and experts, whose sums are read to the host."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.router = torch.nn.Linear(WIDTH, EXPERTS)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS))

    def order(self, probabilities):
        _, indices = torch.topk(probabilities, SELECTED, dim=1)
        chosen = torch.zeros_like(probabilities).int().scatter(1, indices, 1).bool()
        places = torch.arange(len(chosen), device=chosen.device).unsqueeze(0).expand(EXPERTS, -1)
        return chosen.sum(dim=0).long(), places.masked_select(chosen.T.contiguous())

    def mix(self, tokens):
        counts, places = self.order(self.router(tokens).softmax(-1))
        parts = tokens[places].split(counts.tolist())
        outputs = torch.cat([expert(part).tanh() for expert, part in zip(self.experts, parts, strict=True)])
        return torch.zeros_like(tokens).index_add(0, places, outputs)

    def forward(self, ids):
        return self.mix(self.embedding(ids).view(-1, WIDTH)).sum()


class Counts(Masks):
    """Tokens are sorted by expert; a histogram has the sizes."""

    def order(self, probabilities):
        _, indices = torch.topk(probabilities, k=SELECTED, dim=-1, sorted=False)
        counts = torch.histc(indices.view(-1).float(), bins=EXPERTS, min=0, max=EXPERTS)
        return counts.to(torch.int64), torch.argsort(indices.view(-1), stable=True) // SELECTED


class Checkpointed(Counts):
    def forward(self, ids):
        return checkpoint(self.mix, self.embedding(ids).view(-1, WIDTH), use_reentrant=False).sum()


def train(library, device):
    if library in ("eager", "grouped_mm"):
        model, loss = mixtral(library)
        tokens = 256
    else:
        model = loss = {"masks": Masks, "counts": Counts, "checkpointed": Checkpointed}[library]()
        tokens = TOKENS
    model.to(device)
    rows, saved = [], []
    for name, module in model.named_modules():
        if name.endswith(".experts.act_fn") or (name.startswith("experts.") and isinstance(module, torch.nn.Linear)):
            module.register_forward_hook(lambda _, inputs, __: rows.append(inputs[0].shape[0]))
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: saved.append(kept.nbytes) or kept, lambda kept: kept):
        value = loss(torch.randint(0, VOCABULARY, (2, tokens // 2), device=device))
    value.backward()
    print(library, "rows", *rows, "saved", sum(saved))


def main():
    libraries = sys.argv[1].split(",")
    for rule in sys.argv[3:]:
        force(rule)
        for library in libraries:
            train(library, "cpu")
    for library in libraries if len(sys.argv) == 2 else []:
        train(library, "cuda")


if __name__ == "__main__":
    main()
