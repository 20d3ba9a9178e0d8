#!/usr/bin/env python3
"""`headroom dryrun` on programs that are not ours, in virtual_gpu/programs.

usage: dryrun_test.py HEADROOM ALLOCATE LATE_THREAD        (the last two: programs/*.cpp, built)

Runs under the Python whose torch the programs use; without one it is skipped (77). All programs
run first, two at a time, because each spends seconds importing torch.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT  # noqa: E402
from dryrun_runs import AT_NIGHT, GIBI, HEADROOM, MEBI, RUNS, SCRATCH, TOGETHER, Result, line_of  # noqa: E402


class DryRun(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with ThreadPoolExecutor(2) as pool:
            names = [name for name in RUNS if IS_NIGHT or name not in AT_NIGHT]
            cls.results = dict(zip(names, pool.map(Result, names), strict=True))
        cls.results |= {name: cls.results[run].part(text) for run, texts in TOGETHER.items()
                        for name, text in texts.items()}

    def result(self, name: str, code: int = 0, processes: int = 1) -> Result:
        if name not in self.results:
            self.skipTest(f"{name} runs at night: ctest -C nightly")
        result = self.results[name]
        self.assertEqual(result.code, code, result.err)
        self.assertEqual(len(result.processes), processes, result.err)
        return result

    def assert_16_bytes_a_parameter(self, result: Result):
        parameters = int(result.out)
        self.assertGreaterEqual(result.allocator["peak_allocated_bytes"], 16 * parameters)
        # cuBLAS's workspace is there too; the rest is activations of one token.
        self.assertLess(result.allocator["peak_allocated_bytes"], 16 * parameters + 100 * MEBI)
        self.assertGreaterEqual(result.allocator["peak_reserved_bytes"],
                                result.allocator["peak_allocated_bytes"])

    def test_a_training_step_peaks_at_16_bytes_a_parameter(self):
        result = self.result("linear")
        self.assert_16_bytes_a_parameter(result)
        self.assertGreater(result.device["launches"], 20)
        # Forward and both gradients of weight and (but for the first layer) input, two steps.
        self.assertEqual(result.device["matrix_product_flops"], 2 * 2 * 4096**2 * (4 + 4 + 3))
        self.assertIn("peak allocated", result.err)

    def test_other_backends_of_the_allocator_allocate_the_same(self):
        expected = self.result("linear").allocator["peak_allocated_bytes"]
        for name in ("expandable", "async"):
            with self.subTest(name):
                result = self.result(name)
                self.assert_16_bytes_a_parameter(result)
                self.assertLess(abs(result.allocator["peak_allocated_bytes"] - expected), MEBI, name)

    def test_a_python_without_the_hook_is_observed_from_cpp(self):
        result = self.result("isolated")
        self.assertEqual(result.allocator["segments"], self.result("linear").allocator["segments"])
        # This program resets its peaks: the observer keeps those before.
        for key in ("peak_allocated_bytes", "peak_reserved_bytes"):
            self.assertEqual(result.allocator[key], self.result("linear").allocator[key], key)

    def test_weights_that_the_host_does_not_draw_cost_it_nothing(self):
        drawn, skipped = self.result("host_weights"), self.result("skip_host_init")
        parameters, drawn_bytes, _, _ = map(float, drawn.out.split())
        _, skipped_bytes, _, spread = map(float, skipped.out.split())
        self.assertGreater(drawn_bytes, 4 * parameters)
        self.assertLess(skipped_bytes, 0.1 * drawn_bytes)
        self.assertAlmostEqual(spread, 1, delta=0.2, msg="small tensors are drawn")
        for key in ("peak_allocated_bytes", "peak_reserved_bytes", "segments"):
            self.assertEqual(skipped.allocator[key], drawn.allocator[key], key)
        self.assertEqual(drawn.processes[0]["skipped_host_init_bytes"], 0)
        self.assertGreater(skipped.processes[0]["skipped_host_init_bytes"], 4 * parameters)
        self.assertIn("not drawn on the host: ", skipped.err)

    def test_checkpointing_lowers_the_peak_of_a_transformer(self):
        result = self.result("transformer")
        plain, checkpointed = map(int, result.out.split())
        self.assertLess(checkpointed, 0.7 * plain)
        self.assertEqual(result.allocator["peak_allocated_bytes"], plain)
        self.assertEqual(result.allocator["peak_allocated_bytes_since_reset"], checkpointed)
        read = [line for line in result.err.splitlines() if "train_transformer.py" in line and "shown once" in line]
        self.assertEqual(len(read), 1, result.err)
        self.assertRegex(read[0], r"reads 4 bytes back at \S*train_transformer.py:21 ")  # scaler.step

    def test_loss_scaling_is_no_reason_to_doubt_the_peak(self):
        result = self.result("transformer")
        self.assertFalse(result.document["peak_may_be_wrong"])
        self.assertEqual(result.processes[0]["host_reads"]["loss_scaling"], 2)
        self.assertNotIn("the peak may be wrong", result.err)

    def test_a_snapshot_changes_nothing_where_checkpointing_ends_by_an_exception(self):
        result = self.result("transformer_snapshot")
        self.assertEqual(result.out, self.result("transformer").out)

    def assert_steered(self, name: str, mark: str, operation: str, code: int = 0) -> Result:
        result = self.result(name, code)
        reads = result.processes[0]["host_reads"]
        line = reads["lines"][0]
        self.assertIn(line_of(mark), line["where"])
        self.assertEqual((line["operation"], line["effect"]), (operation, "steers"))
        self.assertGreaterEqual(reads["steer"], 1)
        self.assertTrue(result.document["peak_may_be_wrong"])
        self.assertRegex(result.err, r"the peak may be wrong: .* branched on them")
        self.assertRegex(result.err, rf"x .*{line_of(mark)} in \w+: {operation}\n")
        return result

    def test_experts_that_no_token_hits_are_reported_with_their_line(self):
        missed = self.assert_steered("router", "router reads", "nonzero")
        self.assertEqual(missed.out.split(), ["0"])

    def test_experts_that_are_told_to_be_hit_are(self):
        missed = self.result("router")
        hit = self.result("router_hit")
        self.assertEqual(hit.out.split(), ["8"])
        self.assertFalse(hit.document["peak_may_be_wrong"])
        self.assertNotIn("the peak may be wrong", hit.err)
        self.assertGreater(hit.allocator["peak_allocated_bytes"],
                           missed.allocator["peak_allocated_bytes"] + 14 * MEBI)

    def test_a_comparison_of_tensors_is_reported_and_answered(self):
        self.assert_steered("equal", "equal reads", "equal")
        self.assertLess(self.result("equal_true").allocator["peak_allocated_bytes"], MEBI)

    def test_what_is_only_printed_is_counted_and_not_warned_of(self):
        reads = self.result("log").processes[0]["host_reads"]
        self.assertEqual((reads["steer"], reads["may_steer"], reads["printed"]), (0, 0, 9))
        self.assertNotIn("the peak may be wrong", self.result("log").err)

    def test_what_leaves_its_function_may_steer(self):
        result = self.result("hold")
        reads = result.processes[0]["host_reads"]
        self.assertEqual((reads["steer"], reads["may_steer"]), (0, 5))
        self.assertIn("may have branched on them 5 times\n", result.err)

    def test_answers_have_the_type_of_what_is_read(self):
        self.assertEqual(self.result("answers").out.splitlines(), [
            "1.5 1.5", "[7, 7, 7] [7.0, 7.0]", "torch.Size([1, 1]) True", "0", "0", "0", "0"])

    def test_a_loop_that_waits_ends_when_its_value_is_given(self):
        result = self.result("generate")
        self.assertEqual(result.out.split(), ["steps", "7"])
        self.assertEqual([value["reads"] for value in result.document["values"]][-2:], [7, 0])
        self.assertIn("--value 'nosuch.py:3=1' was never read", result.err)
        self.assertFalse(result.document["peak_may_be_wrong"])

    def test_a_loop_that_waits_is_named_and_a_signal_that_stops_it_is_reported(self):
        result = self.assert_steered("stopped", "wait reads", "bool", code=128 + 15)
        self.assertIn("1,000 reads of device values in a row, none at a new line", result.err)
        self.assertRegex(result.err, rf"--value '[^']*{line_of('wait reads')}=1' answers it")
        self.assertIn("signal 15 (SIGTERM) ended it", result.err)
        self.assertEqual(result.processes[0]["ended_by_signal"], 15)
        self.assertGreater(result.allocator["peak_allocated_bytes"], 0)
        self.assertGreater(result.device["launches"], 1100)
        self.assertTrue(Path(SCRATCH.name, "stopped.pickle").is_file())

    def test_an_interrupt_is_pythons_own_and_reported(self):
        result = self.assert_steered("interrupted", "wait reads", "bool", code=128 + 2)
        self.assertIn("KeyboardInterrupt", result.err)
        self.assertEqual(result.processes[0]["ended_by_signal"], 2)
        self.assertGreater(result.device["launches"], 1100)

    def test_no_signal_is_lost_while_the_hook_looks_at_a_read(self):
        result = self.result("interrupts", code=33)
        self.assertEqual(result.out.split(), ["100"])
        self.assertEqual(result.processes[0]["ended_by_signal"], 0)

    def test_a_process_that_is_killed_is_said_to_have_left_nothing(self):
        result = self.result("killed", code=128 + 9, processes=0)
        self.assertRegex(result.err, r"process \d+ used CUDA and left no report: it was killed")

    def test_graphs_are_captured_and_replayed(self):
        self.assertGreaterEqual(self.result("graphs").device["graph_launches"], 6)

    def test_workers_pin_streams_record_and_devices_copy(self):
        result = self.result("streams")
        peers, devices, taken_kib = result.out.split()
        self.assertEqual((peers, devices), ("True", "2"))
        self.assertGreater(result.processes[0]["peak_pinned_bytes"], 64 * GIBI)
        self.assertLess(int(taken_kib), 64 * 1024, "what is offloaded takes no real memory")
        second = result.processes[0]["devices"][1]
        self.assertEqual(second["allocator"]["peak_allocated_bytes"], 4 * MEBI)

    def test_out_of_memory_says_where(self):
        result = self.result("oom", code=1)
        place = result.device["out_of_memory"][-1]
        self.assertEqual(place["wanted_bytes"], GIBI)
        self.assertIn("out_of_memory.py:10 in fill", place["where"])
        self.assertIn("out_of_memory.py:10 in fill", result.err)
        self.assertIn("CUDA out of memory. Tried to allocate 1024.00 MiB", result.err)
        # One more block would have been beyond the card; 24 GB of it are not 24 GiB.
        free = (result.document["total_bytes"] - result.document["context_bytes"]
                - result.allocator["peak_reserved_bytes"])
        self.assertTrue(0 <= free < GIBI, free)

    def test_out_of_memory_that_is_caught_is_told_too(self):
        result = self.result("oom_small")
        self.assertEqual(result.document["total_bytes"], 4 * GIBI)
        self.assertEqual(result.allocator["peak_allocated_bytes"], 3 * GIBI)
        self.assertIn("out_of_memory.py:10 in fill", result.err)

    def test_snapshots_open(self):
        for path in (*Path(SCRATCH.name).glob("linear.pickle"), *Path(SCRATCH.name).glob("calm.*.pickle"),
                     Path(SCRATCH.name, "oom.pickle")):
            name = path.name.split(".")[0]
            self.assertRegex(self.results[name].err, rf"snapshot: (\S*/)?{path.name}\n")
            done = subprocess.run([HEADROOM, "snapshot", "validate", str(path)],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
        pids = sorted(str(process["pid"]) for process in self.results["torchrun"].processes)
        self.assertEqual(sorted(path.name for path in Path(SCRATCH.name).glob("ranks*")),
                         [f"ranks.{pid}.pickle" for pid in pids])
        self.assertEqual(list(Path(SCRATCH.name).glob("*.tmp")), [])

    def test_each_rank_of_torchrun_reports_its_device(self):
        processes = self.result("torchrun", processes=2).processes
        devices = sorted(process["devices"][0]["ordinal"] for process in processes)
        self.assertEqual(devices, [0, 1])
        self.assertEqual([len(process["devices"]) for process in processes], [1, 1])
        for process in processes:
            device = process["devices"][0]
            weight = 4 * 1024 * 1024 * (device["ordinal"] + 1)
            self.assertGreaterEqual(device["allocator"]["peak_allocated_bytes"], 2 * weight)

    def test_a_late_fork_fails_as_on_a_card_and_an_abort_is_reported(self):
        result = self.result("forks", code=128 + 6, processes=2)  # the early fork, and the parent
        self.assertEqual(result.out.split(), ["0", "1"])
        self.assertIn("Cannot re-initialize CUDA in forked subprocess", result.err)
        for process in result.processes:
            allocator = process["devices"][0]["allocator"]
            self.assertEqual(allocator["peak_allocated_bytes"], 4 * MEBI)

    def test_what_libtorch_checks_inside_by_values_that_are_not_known_is_well(self):
        result = self.result("searches")
        self.assertEqual(result.out.split("\n"), [
            "[4] [4]", "[] []", "[0]", "[1] [1000] [1]", "[1, 2] [1000]", "[4]", ""])
        effects = {line["operation"]: line["effect"] for line in result.processes[0]["host_reads"]["lines"]}
        self.assertEqual(effects["unique"], "steers")  # one distinct element is supposed, not known
        self.assertEqual((effects["Categorical"], effects["log_prob"]), ("checked", "checked"))

    def test_a_missing_tool_and_an_early_exit_lose_nothing(self):
        result = self.result("missing_tool")
        self.assertEqual(result.allocator["peak_allocated_bytes"], 8 * MEBI)
        self.assertGreaterEqual(result.device["peak_bytes"], 8 * MEBI)
        self.assertIn("endings.py _exit", result.processes[0]["command"])

    def test_a_program_and_the_one_that_takes_its_place_have_a_row_each(self):
        result = self.result("replaced", processes=2)
        self.assertEqual(len({process["pid"] for process in result.processes}), 1)
        self.assertEqual([process["devices"][0]["allocator"]["peak_allocated_bytes"]
                          for process in result.processes], [8 * MEBI, 3 * MEBI])

    def test_of_a_process_killed_at_its_end_the_allocators_peaks_are_known(self):
        result = self.result("killed_late", code=128 + 9)
        self.assertEqual(result.allocator["peak_allocated_bytes"], 8 * MEBI)
        self.assertNotIn("peak_bytes", result.device)
        self.assertIn("it was killed before the virtual GPU could report", result.err)

    def test_a_program_that_signals_itself_ends_at_once_with_its_figures_and_its_snapshot(self):
        for name, number in (("terminates_itself", 15), ("hangs_up_itself", 1)):
            with self.subTest(name):
                result = self.result(name, code=128 + number)
                self.assertNotIn("goes on", result.out)
                self.assertEqual(result.allocator["peak_allocated_bytes"], 8 * MEBI)
        self.assertTrue(Path(SCRATCH.name, "terminated.pickle").exists())

    def test_a_cpp_program_is_observed(self):
        self.assertEqual(self.result("cpp").allocator["allocated_bytes"], MEBI)

    def test_a_cpp_program_that_a_signal_ends_is_observed(self):
        result = self.result("cpp_stopped", code=128 + 15)
        self.assertEqual(result.allocator["allocated_bytes"], MEBI)
        self.assertIn("signal 15 (SIGTERM) ended it: the peaks are those until then", result.err)

    def test_a_cpp_program_that_catches_nothing_is_reported(self):
        result = self.result("cpp_oom", code=128 + 6)
        self.assertEqual(result.allocator["out_of_memory"], 1)
        self.assertIn("1.000 GiB wanted at take_memory(unsigned long)", result.err)

    def test_a_program_without_cuda_keeps_its_exit_code(self):
        result = self.result("no_cuda", code=7, processes=0)
        self.assertIn("no process reported any use of CUDA", result.err)

    def test_a_thread_that_asks_for_the_lock_of_a_python_that_ends_aborts_nothing(self):
        self.assertEqual(self.result("late_thread", processes=0).out, "the last line\n")


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
