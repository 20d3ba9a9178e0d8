#!/usr/bin/env python3
"""Starts vLLM's engine for a model's shape, with random weights, and answers one request.

    python vllm_recipe.py --shape config.json [--answer TOKENS] [flags of vllm serve]

The request is as long as the engine allows; --answer 0 leaves it out. The engine's log says what the
weights, the profiling run and the cache take. It runs on a real card too.
"""

import json
import os
import pathlib
import sys

from engine_shape import model_folder

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "DEBUG")  # the profiling run's figures


def write_zeros(folder):
    """A checkpoint of zeros, which takes no room on the disk: bitsandbytes quantizes weights while it reads them."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        weights = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).state_dict()
    entries, end = {}, 0
    for name, tensor in weights.items():
        begin, end = end, end + 2 * tensor.numel()
        entries[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    header = json.dumps(entries).encode()
    written = pathlib.Path(folder) / f"zeros.{os.getpid()}"
    written.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(written, 8 + len(header) + end)
    written.replace(written.with_name("model.safetensors"))


def longest_request(engine):
    """Tokens. One block of the cache is never given to a request: one that needs all of them would wait forever."""
    cache = engine.vllm_config.cache_config
    held = ((cache.num_gpu_blocks or 0) - 1) * cache.block_size
    longest = engine.model_config.max_model_len
    return min(longest, held) if held > 0 else longest


def answer_one(engine, answer):
    """A request of the longest length, of which `answer` tokens are the answer."""
    from vllm import SamplingParams

    longest = longest_request(engine)
    answer = min(answer, longest - 1)
    prompt = {"prompt_token_ids": [1] * (longest - answer)}
    params = SamplingParams(max_tokens=answer, ignore_eos=True, detokenize=False)
    engine.add_request("0", prompt, params)
    tokens, steps = [], 0
    while engine.has_unfinished_requests():
        steps += 1
        if steps > 10000 + longest:  # a step computes a token at least
            sys.exit("ValueError: the request does not end")
        for output in engine.step():
            tokens = output.outputs[0].token_ids
    print(f"the request ended: {longest - answer} tokens of a prompt, {len(tokens)} of an answer", flush=True)


def sleep(engine):
    """The engine's log says how much each level gives back."""
    for level in (1, 2):
        engine.sleep(level)
        engine.wake_up()


def main():
    from vllm.engine.arg_utils import EngineArgs
    from vllm.usage.usage_lib import UsageContext
    from vllm.utils.argparse_utils import FlexibleArgumentParser
    from vllm.v1.engine.llm_engine import LLMEngine

    parser = FlexibleArgumentParser(description="Starts vLLM's engine and answers one request.")
    parser.add_argument("--shape", required=True, help="the model's config.json")
    parser.add_argument("--answer", type=int, default=8, help="tokens of the request's answer")
    args = EngineArgs.add_cli_args(parser).parse_args()
    args.model, args.load_format, args.skip_tokenizer_init = model_folder(args.shape), "dummy", True
    if args.quantization == "bitsandbytes":
        write_zeros(args.model)
    is_split = args.tensor_parallel_size * args.pipeline_parallel_size > 1
    if not is_split:  # the engine in this process: it starts sooner, and is not killed at its end
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    engine = LLMEngine.from_engine_args(EngineArgs.from_cli_args(args), enable_multiprocessing=is_split,
                                        usage_context=UsageContext.OPENAI_API_SERVER)  # its defaults are vllm serve's
    print("the engine is ready")
    if args.answer > 0:
        answer_one(engine, args.answer)
    if args.enable_sleep_mode:
        sleep(engine)


if __name__ == "__main__":  # its processes import this file
    main()
