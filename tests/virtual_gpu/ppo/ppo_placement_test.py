#!/usr/bin/env python3
"""Components on a virtual card in each phase of an iteration, and the host memory that they cost.

usage: ppo_placement_test.py HEADROOM

Component by component and to the byte: what --swap-phases takes off the card is the components that
a phase does not need, the host link carries them, pinned memory holds them, and the rest of a phase
is what it was without.
"""

import functools
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import at_night, share_by_day  # noqa: E402

HEADROOM = sys.argv[1]
SLAB = 64 << 20  # of pinned memory

SMALL = ("--model-size", "small", "--batch-size", "4", "--prompt-len", "32", "--response-len", "32",
         "--reward-size", "small", "--critic-size", "small", "--epochs", "1", "--device",
         "virtual:h200")
# Idle components of each phase: Note [Phase placement].
IDLE = {
    "generation": {"critic parameters", "reward parameters", "reference parameters"},
    "scoring": set(),
    "training": {"reward parameters", "reference parameters"},
}
STATES = ("optimizer_state", "master_weights")


@functools.cache
def ppo(*flags):
    """The Record; the same flags are run once."""
    command = [HEADROOM, "ppo", "--format", "json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def components(record):
    return {phase["phase"]: phase["component_bytes"] for phase in record["ppo"]["phases"]}


def is_idle(phase, component):
    return component in IDLE[phase] or (phase != "training" and component.endswith(STATES))


class PpoPlacementTest(unittest.TestCase):
    def compare(self, *flags):
        """Both iterations; checks their phases. Returns the swapped one and the bytes of every
        component that is ever idle."""
        still = ppo(*SMALL, *flags)
        swapped = ppo(*SMALL, *flags, "--swap-phases")
        for record in (still, swapped):
            self.assertEqual(record["status"], "ok", record["reason"])
        before, after = components(still), components(swapped)
        self.assertEqual(list(before), ["generation", "scoring", "training"])
        idle = {}
        for phase, held in before.items():
            expected = {name: size for name, size in held.items() if not is_idle(phase, name)}
            self.assertEqual(after[phase], expected, phase)
            idle.update({name: size for name, size in held.items() if is_idle(phase, name)})
        return swapped, idle

    def check_link_and_host(self, swapped, idle):
        read = sum(size for name, size in idle.items() if name.startswith(("reward", "reference")))
        changed = sum(idle.values()) - read
        self.assertEqual(swapped["host_traffic_bytes"],
                         {"to_host": changed, "to_card": changed + read})
        pinned = swapped["spaces"]["host_pinned"]["peak_allocated_bytes"]
        self.assertGreaterEqual(pinned, changed + read)
        self.assertLess(pinned, changed + read + 2 * SLAB)

    def test_what_leaves_are_the_idle_components_and_the_rest_of_a_phase_is_what_it_was(self):
        for flags in share_by_day(((), ("--param-dtype", "bf16"), ("--optimizer", "adam8bit"),
                                   ("--param-dtype", "bf16", "--master-weights", "fp32"),
                                   ("--optimizer-impl", "foreach", "--max-tokens-per-micro-batch", "128")), step=3):
            with self.subTest(flags=flags):
                self.check_link_and_host(*self.compare(*flags))

    def test_an_optimizer_on_the_host_does_not_move_and_the_critic_does(self):
        still = ppo(*SMALL, "--optimizer-offload", "cpu")
        swapped, idle = self.compare("--optimizer-offload", "cpu")
        self.assertEqual({name for name in idle if name.endswith(STATES)}, set())
        critic = idle["critic parameters"]
        read = idle["reward parameters"] + idle["reference parameters"]
        for way, more in (("to_host", critic), ("to_card", critic + read)):
            self.assertEqual(
                swapped["host_traffic_bytes"][way] - still["host_traffic_bytes"][way], more)

    def test_without_a_critic_there_is_less_to_move(self):
        flags = ("--algorithm", "grpo", "--group-size", "2")
        swapped, idle = self.compare(*flags)
        self.assertNotIn("critic parameters", idle)
        self.check_link_and_host(swapped, idle)

    def test_an_emptied_cache_is_what_a_phase_reserves_beyond_what_it_needs(self):
        swapped = ppo(*SMALL, "--swap-phases")
        emptied = ppo(*SMALL, "--swap-phases", "--empty-cache-between-phases")
        self.assertEqual(components(emptied), components(swapped))
        self.assertEqual(emptied["host_traffic_bytes"], swapped["host_traffic_bytes"])
        kept, left = swapped["phases"]["generation"], emptied["phases"]["generation"]
        self.assertEqual(left["requested_bytes"], kept["requested_bytes"])
        # Without it the room of all that left stays reserved: here more than five times the phase.
        self.assertGreater(kept["reserved_bytes"], 5 * kept["allocated_bytes"])
        self.assertLess(left["reserved_bytes"], 1.1 * left["allocated_bytes"])

    @at_night
    def test_four_models_of_7b_fit_80_gb_because_they_are_not_there_at_once(self):
        flags = ("--model-size", "7b", "--reward-size", "7b", "--param-dtype", "bf16", "--attention",
                 "sdpa", "--optimizer", "adam8bit", "--recompute", "full", "--batch-size", "4",
                 "--prompt-len", "512", "--response-len", "8", "--max-tokens-per-micro-batch",
                 "1040", "--minibatches", "2", "--epochs", "1", "--device", "virtual:h100-80gb")
        refused = ppo(*flags)
        self.assertEqual(refused["status"], "oom")
        swapped = ppo(*flags, "--swap-phases")
        self.assertEqual(swapped["status"], "ok", swapped["reason"])
        self.assertGreater(swapped["spaces"]["host_pinned"]["peak_allocated_bytes"], 60 << 30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
