#!/usr/bin/env python3
"""Writes what TRL itself makes of the inputs of make_ppo.py: its PPO and GRPO.

    pip install --no-deps trl==0.22.2      # its source is enough
    .venv/bin/python tests/baselines/ppo/against_trl.py           # rewrites trl.safetensors
    .venv/bin/python tests/baselines/ppo/against_trl.py --check   # recomputes and compares

TRL's trainers cannot be run on given tensors: PPO's terms stand in the middle of a loop over models
and data sets. So the statements themselves are taken out of TRL's files, unchanged, and run with
their variables bound to the inputs: nothing of TRL is imported, and none of what it depends on.
PPO, rewards to losses, is a stretch of PPOTrainer.train; GRPO's loss is GRPOTrainer._compute_loss.
In TRL's PPO a sequence that ended early has its score one position
behind its last token, and a value there; here both masks are the one of the tokens, so that it is
the same problem. TRL estimates by k1 and k3, and takes the mean of all tokens in PPO.
Exit code 77: TRL is not installed, or it is another version.
"""

import argparse
import ast
import collections
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

VERSION = "0.22.2"
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("numpy") is None:
    sys.exit(77)
try:
    if importlib.metadata.version("trl") != VERSION:
        raise importlib.metadata.PackageNotFoundError
except importlib.metadata.PackageNotFoundError:
    print(f"trl {VERSION} is not installed: pip install --no-deps trl=={VERSION}", file=sys.stderr)
    sys.exit(77)

import make_ppo as make
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (TRL's name)

PATH = make.PATH.with_name("trl.safetensors")
SOURCE = Path(importlib.util.find_spec("trl").submodule_search_locations[0])
LOSS_TYPES = {
    "grpo": "seq-mean-token-mean",
    "bnpo": "token-mean",
    "dr_grpo": "seq-mean-token-sum-norm",
}


def parsed(file):
    return ast.parse((SOURCE / file).read_text())


def run(statements, names):
    """The statements, in a namespace that begins as `names` and is returned."""
    module = ast.fix_missing_locations(ast.Module(body=statements, type_ignores=[]))
    exec(compile(module, "trl", "exec"), names)
    return names


def function_of(tree, name, names):
    """A function or method, as a function."""
    found = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
    found.decorator_list = []
    found.returns = None
    for argument in found.args.args:
        argument.annotation = None
    return run([found], names)[name]


def assigned(statement):
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def stretch(tree, first, last):
    """The statements of one block from where `first` is assigned to where `last` is, last."""
    for node in ast.walk(tree):
        body = getattr(node, "body", [])
        if not isinstance(body, list):
            continue
        begin = [i for i, statement in enumerate(body) if first in assigned(statement)]
        end = [i for i, statement in enumerate(body) if last in assigned(statement)]
        if begin and end and begin[0] <= end[-1]:
            return body[begin[0] : end[-1] + 1]
    raise LookupError(f"{first} to {last} is nowhere in TRL's source")


def with_core(**names):
    core = parsed("core.py")
    space = {"torch": torch, "F": F, "np": np, "Optional": None, **names}
    for name in ("masked_mean", "masked_var", "masked_whiten"):
        space[name] = function_of(core, name, space)
    return space


def log_probs_of(x):
    logits = x["hidden"] @ x["head"].T / make.TEMPERATURE
    log_p = torch.log_softmax(logits, -1)
    return logits, log_p.gather(-1, x["tokens"].long().unsqueeze(-1)).squeeze(-1)


def ppo_advantages(x, mask, estimator):
    """TRL's names: logprobs are those of the rollout, values the critic's of then."""
    lengths = x["lengths"].long()
    statements = stretch(parsed("trainer/ppo_trainer.py"), "logr", "advantages")
    return run(
        [s for s in statements if not (isinstance(s, ast.Expr) and "empty_cache" in ast.dump(s))],
        with_core(
            args=SimpleNamespace(
                kl_estimator=estimator,
                kl_coef=make.KL_COEF,
                whiten_rewards=False,
                gamma=make.GAMMA,
                lam=make.LAMBDA,
            ),
            logprobs=x["old_log_probs"].masked_fill(~mask, 0),
            ref_logprobs=x["reference_log_probs"].masked_fill(~mask, 0),
            values=x["old_values"].masked_fill(~mask, 0),
            scores=x["scores"],
            responses=x["tokens"],
            sequence_lengths=lengths - 1,
            sequence_lengths_p1=lengths - 1,
            padding_mask=~mask,
            padding_mask_p1=~mask,
        ),
    )


def ppo_losses(x, mask, rollout):
    tree = parsed("trainer/ppo_trainer.py")
    logits, log_probs = log_probs_of(x)
    names = with_core(
        args=SimpleNamespace(
            cliprange=make.CLIP, cliprange_value=make.VALUE_CLIP, vf_coef=make.VALUE_COEF
        ),
        micro_batch_inds=slice(None),
        padding_mask=~mask,
        padding_mask_p1=~mask,
        mb_values=rollout["values"],
        mb_return=rollout["returns"],
        mb_advantage=rollout["advantages"],
        mb_logprobs=rollout["logprobs"],
        vpred=x["new_values"].masked_fill(~mask, 0),
        new_logprobs=log_probs.masked_fill(~mask, 0),
        logits=logits,
    )
    run(stretch(tree, "vpredclipped", "loss"), names)
    return run(stretch(tree, "pg_clipfrac", "entropy"), names)


def grpo_loss(x, mask, advantages, loss_type):
    _, log_probs = log_probs_of(x)
    metrics = {"train": collections.defaultdict(list)}
    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: (log_probs, log_probs.detach()),
        top_entropy_quantile=1.0,
        beta=make.KL_COEF,
        importance_sampling_level="token",
        epsilon_low=make.CLIP,
        epsilon_high=make.CLIP,
        args=SimpleNamespace(delta=None),
        loss_type=loss_type,
        current_gradient_accumulation_steps=1,
        max_completion_length=make.LONGEST_ALLOWED,
        model=SimpleNamespace(training=True),
        _metrics=metrics,
        accelerator=SimpleNamespace(gather=lambda values: values),
    )
    inputs = {
        "prompt_ids": x["tokens"].long(),
        "prompt_mask": mask,
        "completion_ids": x["tokens"].long(),
        "completion_mask": mask.long(),
        "ref_per_token_logps": x["reference_log_probs"],
        "advantages": advantages,
        "old_per_token_logps": x["old_log_probs"],
    }
    extreme = {"nanmin": torch.min, "nanmax": torch.max}
    names = {"torch": torch, **extreme}
    return function_of(parsed("trainer/grpo_trainer.py"), "_compute_loss", names)(
        trainer, None, inputs
    )


def grpo_advantages(x, scale_rewards):
    trainer = SimpleNamespace(num_generations=make.GROUP, scale_rewards=scale_rewards)
    tree = parsed("trainer/grpo_trainer.py")
    statements = stretch(tree, "mean_grouped_rewards", "is_std_zero")
    blocks = (getattr(node, "body", None) or [] for node in ast.walk(tree))
    block = next(body for body in blocks if isinstance(body, list) and statements[0] in body)
    scaled = block[block.index(statements[-1]) + 1]  # if ...: advantages = advantages / ...
    names = {"torch": torch, "self": trainer, "rewards": x["scores"]}
    return run([*statements, scaled], names)["advantages"]


def compute():
    inputs = make.make_inputs()
    x = {name: torch.from_numpy(values.astype("f8")) for name, values in inputs.items()}
    for name in ("hidden", "head", "new_values"):
        x[name].requires_grad_()
    mask = torch.arange(max(make.LENGTHS)) < x["lengths"].unsqueeze(-1)
    made = {}
    for estimator in ("k1", "k3"):
        rollout = ppo_advantages(x, mask, estimator)
        made[f"kl.{estimator}"] = rollout["kl"]
        made[f"rewards.{estimator}"] = rollout["rewards"].masked_fill(~mask, 0)
        made[f"whitened.{estimator}"] = rollout["advantages"]
        made[f"returns.{estimator}"] = rollout["returns"].masked_fill(~mask, 0)
    losses = ppo_losses(x, mask, rollout)
    parameters = {"hidden": x["hidden"], "head": x["head"]}
    mode = "token-mean"
    make.put_loss(made, f"policy.{mode}", losses["pg_loss"], **parameters)
    make.put_loss(made, f"value.{mode}", losses["vf_loss"], values=x["new_values"])
    made[f"clip_fraction.{mode}"] = losses["pg_clipfrac"]
    made[f"value_clip_fraction.{mode}"] = losses["vf_clipfrac"]
    made["entropy"] = losses["entropy"].masked_fill(~mask, 0)
    for name, scale in (("group_advantages", "group"), ("group_advantages.no_std", "none")):
        made[name] = grpo_advantages(x, scale)
    for loss_type, mode in LOSS_TYPES.items():
        loss = grpo_loss(x, mask, made["group_advantages"], loss_type)
        make.put_loss(made, f"grpo.{mode}", loss, **parameters)
    return {name: make.as_array(values) for name, values in made.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    fresh = compute()
    # Ours, by the formulas, and TRL's are the same numbers.
    problems = [f"TRL: {line}" for line in make.differences(make.load(make.PATH), fresh)]
    if arguments.check:
        problems += make.differences(make.load(PATH), fresh)
    elif not problems:
        make.save(PATH, fresh)
        versions = {"trl": VERSION, "torch": torch.__version__}
        PATH.with_suffix(".json").write_text(json.dumps(versions, indent=2) + "\n")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
