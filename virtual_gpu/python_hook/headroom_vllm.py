"""What vLLM needs to run on a virtual card: sampled tokens, strides of states, the CUDA runtime.

Note [Sampled tokens]
Rationale: a kernel of vLLM's writes the count of each request, the scheduler reads it, and a count of
  zero generates forever. Which count a kernel would write follows from figures of the host.
Approach: after sampling, the counts are copied to the card, where they are then known
  (docs/inside/virtual_gpu.md): none for a request whose prompt is not finished, else one. Nothing is
  allocated on the card. The first model runner reads only the tokens.
Limits: of a draft (speculative decoding) no token is accepted.

Note [Strides of states]
Rationale: for the strides of the states of hybrid models vLLM makes a tensor of their shape on the host,
  in 4 bytes an element: 60 GiB and more beside an 80 GB card. This host may have less, and refuses.
Approach: such tensors have no memory (device meta) while the cache is divided.

Note [vLLM's CUDA runtime]
Rationale: sleep mode and shared memory between ranks call the runtime by ctypes, in the first loaded
  file named libcudart. That can be a copy that another package carries (torchvision), which no
  preloaded library replaces.
Approach: the file that vLLM finds is the stand-in.
"""

import functools
import os
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


def _without_memory(owner, name):
    divide = getattr(owner, name)

    @functools.wraps(divide)
    def divided(*args, **more):
        with sys.modules["torch"].device("meta"):
            return divide(*args, **more)

    setattr(owner, name, divided)


def _find_stand_in(module):
    find = module.find_loaded_library
    lib = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    stand_in = os.path.join(lib, "libvirtual_gpu.so")

    @functools.wraps(find)
    def found(name):
        return stand_in if name == "libcudart" else find(name)

    module.find_loaded_library = found


def answer():
    no_host = "caches of hybrid models may not fit this host"
    headroom_imports.change(
        {
            "vllm.v1.worker.gpu.attn_utils": headroom_imports.or_told(
                lambda module: _without_memory(module, "_reshape_kv_cache"), no_host
            ),
            "vllm.v1.worker.gpu_model_runner": headroom_imports.or_told(
                lambda module: _without_memory(
                    module.GPUModelRunner, "_reshape_kv_cache_tensors"
                ),
                no_host,
            ),
            "vllm.v1.worker.gpu.model_runner": headroom_imports.or_told(
                _answer_counts, "requests may not end"
            ),
            "vllm.distributed.device_communicators.cuda_wrapper": headroom_imports.or_told(
                _find_stand_in, "sleep mode may not work"
            ),
        }
    )
