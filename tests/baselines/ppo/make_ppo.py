#!/usr/bin/env python3
"""Writes what train/ppo/ is held against: every term of PPO and GRPO from its formula.

    .venv/bin/python tests/baselines/ppo/make_ppo.py            # rewrites ppo.safetensors
    .venv/bin/python tests/baselines/ppo/make_ppo.py --check    # recomputes and compares

One sequence and one token after the other, in double precision, gradients by autograd of that;
nothing is masked or padded, and nothing is shared with train/ppo/. Inputs are there as FP32.
against_trl.py computes the same of the same inputs by TRL's own code.
Exit code 77: there is no torch or no numpy.
"""

import argparse
import math
import sys
from pathlib import Path

try:
    import numpy as np
    import torch
except ModuleNotFoundError:
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "optim"))
from make import load, save  # noqa: E402  (safetensors, FP32)

PATH = Path(__file__).resolve().parent / "ppo.safetensors"
TOLERANCE = 1e-5

LENGTHS = (7, 3, 5, 1, 6, 7)  # tokens of each response
WIDTH, VOCABULARY, GROUP = 8, 19, 3
LONGEST_ALLOWED = 9
TEMPERATURE, KL_COEF, GAMMA, LAMBDA = 0.8, 0.07, 0.98, 0.9
CLIP, VALUE_CLIP, VALUE_COEF, ENTROPY_COEF = 0.2, 0.3, 0.5, 0.02
AGGREGATIONS = ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm")


def make_inputs():
    """FP32 arrays, padded to the longest response with numbers that must not matter."""
    draw = np.random.default_rng(15)
    rows, columns = len(LENGTHS), max(LENGTHS)

    def normal(*shape, scale=1.0):
        return (draw.standard_normal(shape) * scale).astype("f4")

    hidden, head = normal(rows, columns, WIDTH), normal(VOCABULARY, WIDTH, scale=0.5)
    tokens = draw.integers(0, VOCABULARY, (rows, columns))
    logits = hidden.astype("f8") @ head.astype("f8").T / TEMPERATURE
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    now = np.take_along_axis(log_p, tokens[..., None], -1)[..., 0]
    return {
        "hidden": hidden,
        "head": head,
        "tokens": tokens.astype("f4"),
        "lengths": np.array(LENGTHS, dtype="f4"),
        # Some ratios beyond the clip on either side.
        "old_log_probs": (now + normal(rows, columns, scale=0.25)).astype("f4"),
        "reference_log_probs": (now + normal(rows, columns, scale=0.5)).astype("f4"),
        "old_values": normal(rows, columns),
        "new_values": normal(rows, columns),
        "scores": normal(rows),
    }


def ragged(values):
    """A list of tensors, each as long as its response."""
    return [values[row, :length] for row, length in enumerate(LENGTHS)]


def padded(rows):
    made = np.zeros((len(LENGTHS), max(LENGTHS)))
    for row, values in enumerate(rows):
        values = values.detach().numpy() if torch.is_tensor(values) else values
        made[row, : len(values)] = values
    return made


def log_probs_and_entropy(hidden, head, tokens):
    log_probs, entropies = [], []
    for row, length in enumerate(LENGTHS):
        of_row, entropy_of_row = [], []
        for t in range(length):
            logits = head @ hidden[row, t] / TEMPERATURE
            log_p = logits - torch.log(torch.exp(logits).sum())
            of_row.append(log_p[int(tokens[row, t])])
            entropy_of_row.append(-(torch.exp(log_p) * log_p).sum())
        log_probs.append(torch.stack(of_row))
        entropies.append(torch.stack(entropy_of_row))
    return log_probs, entropies


def kl_terms(log_probs, reference, name):
    ratio = torch.exp(reference - log_probs)
    if name == "k1":
        return -torch.log(ratio)
    if name == "k2":
        return 0.5 * torch.log(ratio) ** 2
    return ratio - 1 - torch.log(ratio)


def rewards_of(scores, kl):
    rewards = [[-KL_COEF * float(x) for x in of_row] for of_row in kl]
    for row, score in enumerate(scores):
        rewards[row][-1] += float(score)
    return rewards


def gae(rewards, values):
    """By the sum of discounted deltas, eq. 16 of Schulman et al. 2015, not by the recursion."""
    advantages = []
    for of_row, value in zip(rewards, values, strict=True):
        v = [float(x) for x in value] + [0.0]
        delta = [r + GAMMA * v[t + 1] - v[t] for t, r in enumerate(of_row)]
        advantages.append(
            [
                sum((GAMMA * LAMBDA) ** k * later for k, later in enumerate(delta[t:]))
                for t in range(len(delta))
            ]
        )
    returns = [
        [a + float(v) for a, v in zip(of_row, value, strict=True)]
        for of_row, value in zip(advantages, values, strict=True)
    ]
    return advantages, returns


def whitened(rows):
    flat = [x for row in rows for x in row]
    mean = sum(flat) / len(flat)
    variance = sum((x - mean) ** 2 for x in flat) / (len(flat) - 1)
    return [[(x - mean) / math.sqrt(variance + 1e-8) for x in row] for row in rows]


def group_advantages(scores, by_std):
    made = []
    for first in range(0, len(scores), GROUP):
        group = [float(score) for score in scores[first : first + GROUP]]
        mean = sum(group) / GROUP
        deviation = math.sqrt(sum((x - mean) ** 2 for x in group) / (GROUP - 1))
        made += [(x - mean) / (deviation + 1e-4 if by_std else 1.0) for x in group]
    return made


def aggregated(rows, mode):
    if mode == "token-mean":
        return torch.cat(rows).mean()
    if mode == "seq-mean-token-mean":
        return torch.stack([row.mean() for row in rows]).mean()
    return sum(row.sum() for row in rows) / (len(rows) * LONGEST_ALLOWED)


def policy_terms(log_probs, old, advantages):
    """Of each sequence: the losses of its tokens, and which of them are clipped."""
    losses, clipped = [], []
    for new, before, advantage in zip(log_probs, old, advantages, strict=True):
        ratio = torch.exp(new - before)
        limited = ratio.clip(1 - CLIP, 1 + CLIP)
        objective = torch.minimum(ratio * advantage, limited * advantage)
        losses.append(-objective)
        clipped.append((limited * advantage < ratio * advantage).double())
    return losses, clipped


def value_terms(values, old, returns):
    losses, clipped = [], []
    for value, before, target in zip(values, old, returns, strict=True):
        near = before + torch.clamp(value - before, -VALUE_CLIP, VALUE_CLIP)
        losses.append(0.5 * torch.maximum((value - target) ** 2, (near - target) ** 2))
        clipped.append(((near - target) ** 2 > (value - target) ** 2).double())
    return losses, clipped


def gradients(loss, **inputs):
    made = torch.autograd.grad(loss, list(inputs.values()), retain_graph=True)
    return dict(zip(inputs, made, strict=True))


def put_loss(made, name, loss, **inputs):
    made[name] = loss
    for of, gradient in gradients(loss, **inputs).items():
        made[f"{name}.d_{of}"] = gradient


def put_policy_losses(made, x, log_probs, entropies, advantages, group):
    old, reference = ragged(x["old_log_probs"]), ragged(x["reference_log_probs"])
    parameters = {"hidden": x["hidden"], "head": x["head"]}
    group = [torch.full((n,), a, dtype=torch.double) for n, a in zip(LENGTHS, group, strict=True)]
    kl = [kl_terms(new, ref, "k3") for new, ref in zip(log_probs, reference, strict=True)]
    for mode in AGGREGATIONS:
        losses, clipped = policy_terms(log_probs, old, advantages)
        policy, entropy = aggregated(losses, mode), -aggregated(entropies, mode)
        put_loss(made, f"policy.{mode}", policy, **parameters)
        put_loss(made, f"entropy_loss.{mode}", entropy, **parameters)
        put_loss(made, f"ppo.{mode}", policy + ENTROPY_COEF * entropy, **parameters)
        made[f"clip_fraction.{mode}"] = aggregated(clipped, mode)
        made[f"approx_kl.{mode}"] = aggregated(
            [(new - before) ** 2 / 2 for new, before in zip(log_probs, old, strict=True)], mode
        )
        losses, _ = policy_terms(log_probs, old, group)
        losses = [loss + KL_COEF * term for loss, term in zip(losses, kl, strict=True)]
        put_loss(made, f"grpo.{mode}", aggregated(losses, mode), **parameters)


def compute():
    inputs = make_inputs()
    x = {name: torch.from_numpy(values.astype("f8")) for name, values in inputs.items()}
    for name in ("hidden", "head", "new_values"):
        x[name].requires_grad_()
    made = {}
    log_probs, entropies = log_probs_and_entropy(x["hidden"], x["head"], x["tokens"])
    made["log_probs"], made["entropy"] = padded(log_probs), padded(entropies)

    old, reference = ragged(x["old_log_probs"]), ragged(x["reference_log_probs"])
    for name in ("k1", "k2", "k3"):
        kl = [kl_terms(a, b, name) for a, b in zip(old, reference, strict=True)]
        rewards = rewards_of(x["scores"], kl)
        advantages, returns = gae(rewards, ragged(x["old_values"]))
        made |= {f"kl.{name}": padded(kl), f"rewards.{name}": padded(rewards)}
        made |= {f"advantages.{name}": padded(advantages), f"returns.{name}": padded(returns)}
        made[f"whitened.{name}"] = padded(whitened(advantages))
    group = group_advantages(x["scores"], by_std=True)
    made["group_advantages"] = np.array(group)
    made["group_advantages.no_std"] = np.array(group_advantages(x["scores"], by_std=False))

    # k3, computed last.
    targets = [torch.tensor(row, dtype=torch.double) for row in returns]
    for mode in AGGREGATIONS:
        losses, clipped = value_terms(ragged(x["new_values"]), ragged(x["old_values"]), targets)
        put_loss(made, f"value.{mode}", aggregated(losses, mode), values=x["new_values"])
        made[f"value_clip_fraction.{mode}"] = aggregated(clipped, mode)
    steps = [torch.tensor(row, dtype=torch.double) for row in whitened(advantages)]
    put_policy_losses(made, x, log_probs, entropies, steps, group)
    return inputs | {name: as_array(values) for name, values in made.items()}


def as_array(values):
    values = values.detach().numpy() if torch.is_tensor(values) else values
    return np.atleast_1d(np.asarray(values)).astype("f4")


def differences(stored, fresh):
    """Differences between two sets of tensors, as lines; the second may be a part of the first."""
    found = []
    for name, values in fresh.items():
        if name not in stored or stored[name].shape != values.shape:
            found.append(f"{name} is not there in that shape")
            continue
        error = np.abs(stored[name] - values).max() / max(np.abs(values).max(), 1e-30)
        if not error <= TOLERANCE:
            found.append(f"{name} differs by {error:.1e}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    fresh = compute()
    if not arguments.check:
        save(PATH, fresh)
        return 0
    stored = load(PATH)
    problems = differences(stored, fresh)
    problems += [f"{name} is not computed" for name in stored.keys() - fresh.keys()]
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
