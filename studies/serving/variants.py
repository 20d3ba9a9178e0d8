"""Starts vLLM with its features on virtual cards, one request each, and prints which run, as Markdown.

usage: variants.py OURS.json HEADROOM PYTHON [NAME...]   starts them (of these names), keeps the others
       variants.py --table OURS.json                     prints the table only
PYTHON has vLLM (recipes/install.sh serve). Exit codes: 0, 2 usage.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import engine

EAGER = ("--enforce-eager", "--max-model-len", "4096")


QUANTIZED = {
    "AWQ": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"},
    # Without a checkpoint vLLM cannot see which layers are quantized.
    "GPTQ": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True,
             "modules_in_block_to_quantize": [["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"], ["self_attn.o_proj"],
                                              ["mlp.gate_proj", "mlp.up_proj"], ["mlp.down_proj"]]},
}

# A shape in capitals is of that class of transformers, with these sizes.
SIZES = {"FalconH1Config": {"num_hidden_layers": 4}, "Qwen3NextConfig": {"num_hidden_layers": 4, "num_experts": 16}}

# name: (shape, cards, flags).
VARIANTS = {
    "BF16, eager": ("qwen3-0.6b", 1, EAGER),
    "compiled, with CUDA graphs": ("qwen3-0.6b", 1, EAGER[1:]),
    "without prefix caching": ("qwen3-0.6b", 1, (*EAGER, "--no-enable-prefix-caching")),
    "without chunked prefill": ("qwen3-0.6b", 1, (*EAGER, "--no-enable-chunked-prefill")),
    "FP8 weights": ("qwen3-0.6b", 1, (*EAGER, "--quantization", "fp8")),
    "FP8 cache": ("qwen3-0.6b", 1, (*EAGER, "--kv-cache-dtype", "fp8")),
    "AWQ": ("qwen3-0.6b", 1, EAGER),
    "GPTQ": ("qwen3-0.6b", 1, EAGER),
    "bitsandbytes": ("qwen3-0.6b", 1, (*EAGER, "--quantization", "bitsandbytes")),
    "LoRA adapters": ("qwen3-0.6b", 1, (*EAGER, "--enable-lora", "--max-lora-rank", "16")),
    "speculative decoding, n-grams": (
        "qwen3-0.6b", 1,
        (*EAGER, "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}')),
    "sleep mode": ("qwen3-0.6b", 1, (*EAGER, "--enable-sleep-mode")),
    **{f"tensor parallel {n}": ("qwen3-0.6b", n, (*EAGER, "--tensor-parallel-size", str(n))) for n in (2, 4, 8)},
    **{f"pipeline parallel {n}": ("qwen3-0.6b", n, (*EAGER, "--pipeline-parallel-size", str(n))) for n in (2, 4)},
    "speculative decoding, a draft model": (
        "qwen3-1.7b", 1,
        (*EAGER, "--speculative-config", '{"method": "draft_model", "model": "%s", "num_speculative_tokens": 3}')),
    "mixture of experts (Qwen3-30B-A3B)": ("qwen3-30b-a3b", 1, EAGER),
    "hybrid model, Mamba (Falcon-H1, 4 layers)": ("FalconH1Config", 1, EAGER),
    # On an H100 FlashInfer would compile its kernel first, for many minutes.
    "hybrid model, linear attention (Qwen3-Next, 4 layers)": ("Qwen3NextConfig", 1, (*EAGER, "--gdn-prefill-backend", "triton")),
}
PROGRAM = """import json, sys, transformers
config = getattr(transformers, sys.argv[1])(**json.loads(sys.argv[3]))
config.architectures = [sys.argv[1].replace("Config", "ForCausalLM")]
config.save_pretrained(sys.argv[2])
"""


def job(name, python, folder):
    shape, _, flags = VARIANTS[name]
    config = engine.shape(shape)
    if shape.endswith("Config"):
        config = os.path.join(folder, shape, "config.json")
        subprocess.run([python, "-c", PROGRAM, shape, os.path.dirname(config), json.dumps(SIZES[shape])], check=True)
    if any("%s" in flag for flag in flags):
        draft = os.path.join(folder, "draft")
        os.makedirs(draft, exist_ok=True)
        shutil.copy(engine.shape("qwen3-0.6b"), os.path.join(draft, "config.json"))
        flags = [flag.replace("%s", draft) for flag in flags]
    changes = {"quantization_config": QUANTIZED[name]} if name in QUANTIZED else None
    return {"config": config, "changes": changes, "flags": flags}


def reason_of(text):
    """Why it did not run: the first error that is not a consequence of another."""
    invalid = re.search(r"^\s+Value error, (.+?)(?: \[type=.*)?$", text, re.MULTILINE)
    if invalid:
        return invalid[1][:300]
    lines = [line for line in text.splitlines() if "Error: " in line and "initialization failed" not in line]
    found = lines[0] if lines else text.strip().splitlines()[-1]
    return found[found.find(found.split("Error: ")[0].split(" ")[-1]):][:300]


def table(ours):
    version = next((one["vllm"] for one in ours.values() if "vllm" in one), "")
    lines = [f"### Features of vLLM {version} on virtual cards\n",
             "Written by `studies/serving/variants.py`: one start and one request of 4,096 tokens each, on `h100-80gb`.\n",
             "| feature | runs | weights, GiB | cache, GiB | tokens of the cache | reason |", "| --- | --- | ---: | ---: | ---: | --- |"]
    for name in VARIANTS:
        one = ours.get(name)
        if one is None:
            continue
        tokens = f"{int(one['tokens']):,}" if "tokens" in one else ""
        reason = one.get("reason", "").replace("|", "\\|")
        if "level_2_gib" in one:
            reason = f"gives back {one['level_1_gib']} GiB (level 1), {one['level_2_gib']} GiB (level 2)"
        lines.append("| " + " | ".join([name, "no" if "reason" in one else "yes", one.get("weights_gib", ""),
                                        one.get("cache_gib", ""), tokens, reason]) + " |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        print(table(engine.load(sys.argv[2])), end="")
        return 0
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    path, headroom, python = sys.argv[1:4]
    ours = engine.load(path, {})
    with tempfile.TemporaryDirectory() as folder:
        jobs = {name: job(name, python, folder) for name in sys.argv[4:] or VARIANTS}
        count = max(VARIANTS[name][1] for name in jobs)
        for name, found, text in engine.start_all(headroom, python, "h100-80gb", count, jobs):
            if found["exit_code"] != "0" or "request" not in found:
                found["reason"] = reason_of(text)
            ours[name] = found
            engine.save(path, ours)
    print(table(ours), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
