#!/usr/bin/env python3
"""Starts SGLang's engine for a model's shape, with random weights, and answers one request.

    python sglang_recipe.py --shape config.json [--answer TOKENS] [flags of sglang.launch_server]

The request is as long as the engine allows; --answer 0 leaves it out. The engine's log says what the
weights, the cache and the CUDA graphs take. It runs on a real card too.
"""

import argparse
import os
import sys

from engine_shape import model_folder

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def takes_request(args):
    """FlashInfer plans by lengths that its kernels may write on the card; a virtual card does not know them."""
    backends = {args.attention_backend, args.prefill_attention_backend, args.decode_attention_backend}
    return "HEADROOM_VIRTUAL_REPORT" not in os.environ or "flashinfer" not in backends


def answer_one(engine, answer):
    """A request of the longest length, of which `answer` tokens are the answer."""
    answer = min(answer, engine.tokenizer_manager.max_req_input_len - 2)
    prompt = engine.tokenizer_manager.max_req_input_len - 1 - answer
    params = {"max_new_tokens": answer, "ignore_eos": True}
    (output,) = engine.generate(input_ids=[[1] * prompt], sampling_params=params)
    print(f"the request ended: {prompt} tokens of a prompt, {len(output['output_ids'])} of an answer", flush=True)


def end(engine):
    """The engine kills its processes; asked first, those on the cards end by themselves and report their memory."""
    import psutil

    processes = [psutil.Process(pid) for pid in engine.get_all_child_pids()]
    for process in processes:
        process.terminate()
    psutil.wait_procs(processes, timeout=20)
    engine.shutdown()


def main():
    parser = argparse.ArgumentParser(description="Starts SGLang's engine and answers one request.")
    parser.add_argument("--shape", required=True, help="the model's config.json")
    parser.add_argument("--answer", type=int, default=8, help="tokens of the request's answer")
    own, rest = parser.parse_known_args()

    from sglang import Engine
    from sglang.srt.server_args import prepare_server_args

    folder = model_folder(own.shape)
    args = prepare_server_args(["--model-path", folder, "--load-format", "dummy", "--skip-tokenizer-init", *rest])
    engine = Engine(server_args=args)
    print("the engine is ready", flush=True)
    if own.answer > 0 and takes_request(engine.server_args):
        answer_one(engine, own.answer)
    end(engine)


if __name__ == "__main__":  # its processes import this file
    sys.exit(main())
