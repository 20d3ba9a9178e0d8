#!/usr/bin/env python3
"""Generation on virtual cards and on the CPU: theory's bytes are the measured ones.

usage: generate_test.py HEADROOM

Each form and type of the cache, chunks, a cache that does not hold all, sampling; and of a large
model that the cache is what its formula says and that a paged one of 8 bits is what makes it fit.
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import theory_test
from warm_cells import WarmCells

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, share_by_day  # noqa: E402

HEADROOM = sys.argv[1]


def profile(*flags):
    command = [HEADROOM, "profile", "--profile-type", "generate", "--format", "json",
               "--warmup-steps", "1", "--measure-steps", "1", "--stacks", "none", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


class GenerateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.warm = cls.enterClassContext(WarmCells(HEADROOM))

    def check_grid(self, **axes):
        """Every cell; by day, of a card, the cells in which every two values stand together once."""
        grid = {"profile_type": "generate", **axes}
        of_one_process = axes["device"] == "cpu"
        for cells in [grid] if IS_NIGHT or of_one_process else theory_test.pairs_of([grid]):
            self.check(cells)

    def check(self, cells):
        for record in theory_test.sweep(self.warm, **cells):
            self.assertEqual(theory_test.differences(record), [], record["name"])
            self.assertGreater(record["category_peak_bytes"]["kv_cache"], 0)
            self.assertEqual(record["phase_order"], ["prefill", "decode"])
            categories = sum(record["categories_at_peak_bytes"].values())
            self.assertEqual(categories, record["recorded_peak"]["allocated_bytes"])

    def test_bytes_of_every_form_and_type_of_the_cache_are_those_of_theory(self):
        self.check_grid(device="virtual:h200", context_length="67",
                        prompt_len="37", response_len="5", kv_heads="2",
                        kv_cache="contiguous,paged",
                        kv_cache_dtype="auto,fp32,bf16,fp16,fp8,int8",
                        precision="fp32,bf16", attention="eager,sdpa")

    def test_chunks_a_small_cache_and_sampling_change_no_state(self):
        self.check_grid(device="virtual:h200", context_length="64", prompt_len="33",
                        response_len="4", kv_cache="contiguous,paged", prefill_chunk="0,7,50",
                        kv_cache_tokens="0,96", temperature="0,0.7",
                        attention="eager,sdpa,efficient")

    def test_decodes_that_are_not_run_change_no_peak(self):
        """Measured steps skip decodes, the recorded one runs all of them."""
        cases = ([], ["--attention", "sdpa"], ["--kv-cache", "paged"], ["--kv-cache-dtype", "int8"],
                 ["--kv-cache-tokens", "960"], ["--param-offload", "cpu"])
        for flags in share_by_day(cases, step=3):
            record = profile("--model-size", "small", "--device", "virtual:a10g", "--batch-size",
                             "6", "--prompt-len", "40", "--response-len", "200", *flags)
            measured = {f"{kind}_bytes": record[f"peak_{kind}_bytes"]
                        for kind in ("allocated", "reserved", "requested")}
            self.assertEqual(measured, record["recorded_peak"], flags)
            self.assertGreater(record["trace_events"], 200 * 12, "all decodes are recorded")

    def test_a_captured_decode_has_a_pool_of_its_own_that_grows_with_the_batch(self):
        for form in share_by_day(("paged", "contiguous")):
            pools = []
            for batch in share_by_day(("1", "8", "64")):
                record = profile("--model-size", "small", "--context-length", "256",
                                 "--prompt-len", "100", "--response-len", "5", "--batch-size",
                                 batch, "--attention", "sdpa", "--param-dtype", "bf16", "--kv-cache",
                                 form, "--decode-graph", "--device", "virtual:h200")
                self.assertEqual(record["status"], "ok", record["reason"])
                self.assertEqual(theory_test.differences(record), [])
                pools.append(record["generation"]["graph_pool_bytes"])
                self.assertEqual(record["generation"]["decode_ms"], [])
            rounds = profile("--model-size", "small", "--context-length", "256", "--prompt-len",
                             "100", "--response-len", "5", "--batch-size", "8", "--attention",
                             "eager", "--kv-cache", form, "--kv-cache-tokens", "336",
                             "--prefill-chunk", "60", "--decode-graph", "--device",
                             "virtual:h200")  # three sequences at a time
            self.assertEqual(rounds["status"], "ok", rounds["reason"])
            self.assertEqual(rounds["phase_runs"], {"prefill": 3, "decode": 3})
            self.assertGreater(pools[0], 0)
            self.assertGreater(pools[-1], pools[0])

    def test_parameters_on_the_host_come_once_a_pass(self):
        self.check_grid(device="virtual:h200", context_length="64", prompt_len="33",
                        response_len="4", prefill_chunk="0,40", kv_cache_tokens="0,80",
                        kv_cache="paged", param_offload="cpu")

    def test_on_the_cpu_too_with_times(self):
        self.check_grid(device="cpu", context_length="48", prompt_len="20", response_len="6",
                        kv_cache="contiguous,paged", kv_cache_dtype="auto,fp8,int8",
                        precision="fp32,bf16", kv_heads="1,4")
        record = profile("--model-size", "custom", "--d-model", "64", "--d-ff", "128", "--layers",
                         "2", "--heads", "4", "--vocab-size", "100", "--context-length", "32",
                         "--batch-size", "3", "--device", "cpu")
        generation = record["generation"]
        self.assertEqual(generation["prompt_tokens"], 3 * 16)
        self.assertEqual(generation["decoded_tokens"], 3 * 15)
        self.assertGreater(generation["prefill_ms"][0], 0)
        self.assertLess(generation["prefill_ms"][0] + generation["decode_ms"][0],
                        1.01 * record["step_ms"][0])

    def test_a_large_models_cache_is_its_formula_and_8_bits_make_it_fit(self):
        flags = ["--model-size", "7b", "--param-dtype", "bf16", "--attention", "sdpa",
                 "--context-length", "2048", "--prompt-len", "2000", "--response-len", "3",
                 "--batch-size", "10", "--prefill-chunk", "2000", "--device", "virtual:rtx4090",
                 "--kv-cache", "paged"]
        refused = profile(*flags, "--kv-cache-dtype", "bf16")
        self.assertEqual(refused["status"], "oom")
        small = profile(*flags, "--kv-cache-dtype", "int8")
        self.assertEqual(small["status"], "ok", small["reason"])
        # 32 layers and heads of 128; 126 blocks a sequence.
        self.assertEqual(small["category_peak_bytes"]["kv_cache"],
                         2 * 32 * 10 * 126 * 16 * 32 * (128 + 4))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
