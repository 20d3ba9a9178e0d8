#!/usr/bin/env python3
"""What a dry run changes in vLLM: the number of sampled tokens, the strides of a hybrid model's states, and the CUDA
runtime that it finds. Its modules are stand-ins with their names and fields.

usage: vllm_test.py HEADROOM PYTHON
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM, PYTHON = sys.argv[1:3]
MODEL_RUNNER = """
import torch

class GPUModelRunner:
    def sample(self, hidden_states, input_batch, grammar_output):
        return "output", *(torch.empty(3, dtype=torch.int32, device="cuda") for _ in range(2))
"""
PROGRAM = """
import json, types
import numpy
import torch
from vllm.v1.worker.gpu.model_runner import GPUModelRunner

torch.empty(3, device="cuda")
before = torch.cuda.memory_stats()["allocation.all.allocated"]
batch = types.SimpleNamespace(num_computed_prefill_tokens_np=numpy.array([8, 0, 0], dtype="int32"),
                              num_scheduled_tokens=numpy.array([3, 8, 5], dtype="int32"),
                              prefill_len_np=numpy.array([8, 8, 8], dtype="int32"),
                              cu_num_logits_np=numpy.array([0, 3, 4, 5], dtype="int32"))
output, sampled, rejected = GPUModelRunner().sample(None, batch, None)
made = torch.cuda.memory_stats()["allocation.all.allocated"] - before
print(json.dumps([output, sampled.tolist(), rejected.tolist(), made]))
from vllm.v1.worker.gpu import attn_utils
from vllm.v1.worker import gpu_model_runner
cache = torch.empty(8, device="cuda")
for state in attn_utils._reshape_kv_cache(cache), gpu_model_runner.GPUModelRunner()._reshape_kv_cache_tensors(cache):
    print(state.device, state.stride())
from vllm.distributed.device_communicators import cuda_wrapper
print(cuda_wrapper.find_loaded_library("libcudart"), cuda_wrapper.find_loaded_library("libother"))
"""
# A tensor of 1 EiB, which no host has.
RESHAPE = """
import torch

def _reshape_kv_cache(cache):
    return cache.as_strided((2, 3), torch.empty((2**38, 2**20, 1)).stride()[1:])

class GPUModelRunner:
    def _reshape_kv_cache_tensors(self, cache):
        return _reshape_kv_cache(cache)
"""
CUDA_WRAPPER = """
def find_loaded_library(name):
    return "the program's " + name
"""


def run(model_runner):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("v1/worker/gpu/model_runner.py", model_runner), ("v1/worker/gpu_model_runner.py", RESHAPE),
                           ("v1/worker/gpu/attn_utils.py", RESHAPE),
                           ("distributed/device_communicators/cuda_wrapper.py", CUDA_WRAPPER)):
            module = Path(folder) / "vllm" / name
            module.parent.mkdir(parents=True, exist_ok=True)
            module.write_text(text, encoding="utf-8")
        (Path(folder) / "program.py").write_text(PROGRAM, encoding="utf-8")
        return subprocess.run([HEADROOM, "dryrun", "--card", "h200", "--", PYTHON, Path(folder) / "program.py"],
                              capture_output=True, text=True, check=False)


class SampledTokens(unittest.TestCase):
    def test_a_request_in_its_prompt_has_none_and_another_has_one(self):
        done = run(MODEL_RUNNER)
        self.assertEqual(done.returncode, 0, done.stderr)
        # A decoding request with two draft tokens, one that ends its prompt, one in the middle of it.
        counts, *states, libraries = done.stdout.splitlines()
        output, sampled, rejected, made = json.loads(counts)
        self.assertEqual((output, sampled, rejected), ("output", [1, 1, 0], [2, 0, 0]))
        self.assertEqual(made, 2, "the answer allocates memory of the card")
        self.assertNotIn("may be wrong", done.stderr)
        self.assertEqual(states, ["cuda:0 (1, 1)"] * 2)
        self.assertRegex(libraries, r"/libvirtual_gpu\.so the program's libother$")

    def test_another_version_is_named(self):
        done = run("import torch\nGPUModelRunner = object\n")
        self.assertIn("vllm.v1.worker.gpu.model_runner is not as expected, so requests may not end", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
