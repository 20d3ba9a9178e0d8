#!/usr/bin/env python3
"""Generation on the CPU beside transformers' generate() with its cache: equal tokens, then times.

usage: transformers_test.py GENERATE_PROGRAM [--rounds N] [--layers N] [--type TYPE] [--json]

A Llama, Qwen2 or Qwen3 of transformers gets the weights of our model; both generate greedily from the same
prompts, with as many threads, in turn. Skipped (77) where transformers is not installed. Fails where
tokens differ; a time fails nothing here, where other programs use the machine. --json prints one
line for results/.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


# Layers besides: Qwen2 has biases, Qwen3 norms of heads and, here, heads of a size of their own.
BESIDES = {"Llama": {}, "Qwen2": {"tied_embeddings": True, "qkv_bias": True},
           "Qwen3": {"tied_embeddings": True, "qk_norm": True, "head_dim": 24}}


def peer(kind, spec, weights):
    """Of transformers, with our weights: its rotation pairs the halves of a head, ours neighbours,
    which is an order of rows of the query and key projections, and of what is added to them."""
    size = spec.get("head_dim") or spec["d_model"] // spec["heads"]
    is_tied = spec.get("tied_embeddings", False)
    config = getattr(transformers, kind + "Config")(
        vocab_size=spec["vocab_size"], hidden_size=spec["d_model"], head_dim=size,
        intermediate_size=spec["d_ff"], num_hidden_layers=spec["layers"],
        num_attention_heads=spec["heads"], num_key_value_heads=spec["kv_heads"],
        max_position_embeddings=spec["context_length"], rms_norm_eps=1e-5, rope_theta=10000.0,
        tie_word_embeddings=is_tied, attn_implementation="sdpa", bos_token_id=None,
        eos_token_id=None)
    model = getattr(transformers, kind + "ForCausalLM")(config).to(torch.float32).eval()

    def halves(rows):
        return rows.view(-1, size // 2, 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)

    names = {"token_embeddings.weight": "model.embed_tokens.weight",
             "ln_final.weight": "model.norm.weight", "lm_head.weight": "lm_head.weight"}
    for i in range(spec["layers"]):
        ours, theirs = f"layers.{i}.", f"model.layers.{i}."
        for letter in "qkv":
            names[f"{ours}attn.{letter}_proj.bias"] = f"{theirs}self_attn.{letter}_proj.bias"
            names[f"{ours}attn.{letter}_norm.weight"] = f"{theirs}self_attn.{letter}_norm.weight"
        names |= {ours + a + ".weight": theirs + b + ".weight" for a, b in {
            "attn.q_proj": "self_attn.q_proj", "attn.k_proj": "self_attn.k_proj",
            "attn.v_proj": "self_attn.v_proj", "attn.output_proj": "self_attn.o_proj",
            "ffn.w1": "mlp.gate_proj", "ffn.w2": "mlp.down_proj", "ffn.w3": "mlp.up_proj",
            "ln1": "input_layernorm", "ln2": "post_attention_layernorm"}.items()}
    state = {}
    for name, tensor in weights.items():
        turned = any(f".{part}." in name for part in ("q_proj", "k_proj", "q_norm", "k_norm"))
        state[names[name]] = halves(tensor) if turned else tensor
    if is_tied:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True)
    return model


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--type", choices=BESIDES, help="default: each in turn")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--prompt-len", type=int, default=24)
    parser.add_argument("--response-len", type=int, default=16)
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kv-cache", default="contiguous")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def spec_of(asked, kind):
    spec = {"model_size": "custom", "d_model": asked.d_model, "d_ff": 4 * asked.d_model,
            "layers": asked.layers, "heads": asked.d_model // 16 if asked.d_model < 512 else
            asked.d_model // 64, "vocab_size": 10000, "profile_type": "generate",
            "context_length": asked.prompt_len + asked.response_len, "attention": "sdpa",
            "batch_size": asked.batch_size, "prompt_len": asked.prompt_len,
            "response_len": asked.response_len, "device": "cpu", "threads": asked.threads,
            "kv_cache": asked.kv_cache}
    spec["kv_heads"] = spec["heads"] // 2
    return spec | BESIDES[kind]


def write_weights(program, spec, path):
    """Of our model; norms are not ones and biases not zeros, which would hide both."""
    subprocess.run([program, json.dumps(spec), path], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, check=True)
    weights = {name: tensor + 0.3 * torch.randn_like(tensor) if tensor.dim() == 1 else tensor
               for name, tensor in load_file(path).items()}
    save_file(weights, path)


def compared(asked, kind, spec):
    """Times of both in each round, in ms; the tokens must be equal."""
    with (tempfile.NamedTemporaryFile(suffix=".safetensors") as start,
          tempfile.NamedTemporaryFile(suffix=".safetensors") as file):
        write_weights(asked.program, spec, start.name)
        spec = spec | {"load_weights": start.name}
        with subprocess.Popen([asked.program, json.dumps(spec), file.name], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as ours:
            prompts = torch.tensor(json.loads(ours.stdout.readline())["prompts"])
            model = peer(kind, spec, load_file(file.name))
            our_ms, their_ms = [], []
            for turn in range(asked.rounds + 1):  # the first is a warm-up
                ours.stdin.write("go\n")
                ours.stdin.flush()
                given = json.loads(ours.stdout.readline())
                began = time.perf_counter()
                with torch.no_grad():
                    theirs = model.generate(
                        prompts, attention_mask=torch.ones_like(prompts), do_sample=False,
                        max_new_tokens=asked.response_len, min_new_tokens=asked.response_len,
                        use_cache=True, pad_token_id=0)
                took = 1000 * (time.perf_counter() - began)
                if given["tokens"] != theirs.tolist():
                    sys.exit(f"{kind}: tokens differ")
                if turn > 0:
                    our_ms.append(given["ms"]["all"])
                    their_ms.append(took)
            ours.stdin.close()
    return our_ms, their_ms


def main():
    asked = arguments()
    torch.set_num_threads(asked.threads)
    for kind in [asked.type] if asked.type else BESIDES:
        report(asked, kind)


def report(asked, kind):
    spec = spec_of(asked, kind)
    our_ms, their_ms = compared(asked, kind, spec)
    result = {"shape": {key: spec[key] for key in ("d_model", "d_ff", "layers", "heads",
                                                   "kv_heads", "batch_size", "prompt_len",
                                                   "response_len", "threads", "kv_cache")},
              "transformers": transformers.__version__, "torch": torch.__version__,
              "ours_ms": our_ms, "transformers_ms": their_ms,
              "ratio": statistics.median(our_ms) / statistics.median(their_ms)}
    print(json.dumps(result) if asked.json else
          f"{kind}: equal tokens; ours {statistics.median(our_ms):.1f} ms, transformers "
          f"{statistics.median(their_ms):.1f} ms, ratio {result['ratio']:.2f}")


if __name__ == "__main__":
    main()
