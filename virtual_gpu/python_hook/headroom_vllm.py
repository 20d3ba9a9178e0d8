"""How many tokens vLLM sampled: its second model runner reads that back from the card.

Note [Sampled tokens]
Rationale: a kernel of vLLM's writes the count of each request, the scheduler reads it, and a count of
  zero generates forever. Which count a kernel would write follows from figures of the host.
Approach: after sampling, the counts are copied to the card, where they are then known
  (docs/virtual_gpu.md): none for a request whose prompt is not finished, else one. Nothing is
  allocated on the card. The first model runner reads only the tokens.
Limits: of a draft (speculative decoding) no token is accepted.
"""

import functools
import sys

import headroom_imports


def _answer_counts(module):
    sample = module.GPUModelRunner.sample

    @functools.wraps(sample)
    def answered(self, hidden_states, input_batch, *rest, **more):
        output, sampled, rejected = sample(self, hidden_states, input_batch, *rest, **more)
        torch = module.torch
        batch = input_batch
        ends = batch.num_computed_prefill_tokens_np + batch.num_scheduled_tokens
        is_sampled = (ends >= batch.prefill_len_np).astype("int32")
        logits = batch.cu_num_logits_np[1:] - batch.cu_num_logits_np[:-1]
        for counts, known in ((sampled, is_sampled), (rejected, (logits - 1) * is_sampled)):
            counts.copy_(torch.from_numpy(known.astype("int32")))
        return output, sampled, rejected

    module.GPUModelRunner.sample = answered


def _change(module):
    try:
        _answer_counts(module)
    except AttributeError as error:  # another version
        sys.stderr.write(
            "headroom dryrun: vLLM's model runner is not as expected, so requests may not end: "
            f"{error}\n"
        )


def answer():
    headroom_imports.change({"vllm.v1.worker.gpu.model_runner": _change})
