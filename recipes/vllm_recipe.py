#!/usr/bin/env python3
"""Starts vLLM's engine for a model's shape, with random weights, until it can take requests.

    python vllm_recipe.py --shape config.json [flags of vllm serve]

Its log says what the weights, the profiling run and the cache take. It runs on a real card too.
"""

import os
import shutil
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "DEBUG")  # the profiling run's figures


def main():
    from vllm.engine.arg_utils import EngineArgs
    from vllm.usage.usage_lib import UsageContext
    from vllm.utils.argparse_utils import FlexibleArgumentParser
    from vllm.v1.engine.llm_engine import LLMEngine

    parser = FlexibleArgumentParser(description="Starts vLLM's engine until it can take requests.")
    parser.add_argument("--shape", required=True, help="the model's config.json")
    args = EngineArgs.add_cli_args(parser).parse_args()
    with tempfile.TemporaryDirectory() as folder:  # a model without weights and tokenizer
        shutil.copy(args.shape, os.path.join(folder, "config.json"))
        args.model, args.load_format, args.skip_tokenizer_init = folder, "dummy", True
        is_split = args.tensor_parallel_size * args.pipeline_parallel_size > 1
        LLMEngine.from_engine_args(EngineArgs.from_cli_args(args), enable_multiprocessing=is_split,
                                   usage_context=UsageContext.OPENAI_API_SERVER)  # its defaults are vllm serve's
        print("the engine is ready")


if __name__ == "__main__":  # its processes import this file
    main()
