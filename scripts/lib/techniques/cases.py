"""The rows of the table of memory techniques: settings, and what is claimed for them.

The claims are those of the memory optimization guide this project began with (its sections 2 to 5),
each held against the quantity that it is about.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Claim:
    text: str
    quantity: str  # a key of quantities() in table.py
    low: float
    high: float


@dataclass(frozen=True)
class Case:
    name: str
    flags: dict = field(default_factory=dict)
    against: str = "as it is"  # the case without the technique
    claims: tuple = ()
    may_be_refused: bool = False  # not every card has it

    @property
    def uses_bf16(self):
        """Has matrix products in BF16; on the CPU they emulate those in FP8."""
        return (self.flags.get("precision") in ("bf16", "fp8") or self.flags.get("param-dtype") == "bf16"
                or self.flags.get("optimizer") == "muon")

    @property
    def is_compiled(self):
        """Runs only where torch's compiler is asked for."""
        return self.flags.get("kernels") == "compiled"


BASE = "as it is"
FLASH = {"precision": "bf16", "attention": "flash"}
COMPILED = {"kernels": "compiled"}

# One technique each.
SINGLE = [
    Case(BASE),
    Case("BF16 autocast", {"precision": "bf16"}),
    Case("FP8 products, BF16 autocast", {"precision": "fp8"}, "BF16 autocast",
         claims=(Claim("4 -> 1 bytes", "weight, bytes per parameter", 0.99, 1.01),),
         may_be_refused=True),
    Case("flash attention, BF16 autocast", FLASH, "BF16 autocast"),
    Case("checkpoint every second block", {"recompute": "blocks:50%"},
         claims=(Claim("saves 40-50 %", "activations saved, %", 40, 50),
                 Claim("costs 15-20 % time", "time, %", 15, 20))),
    Case("checkpoint every block", {"recompute": "full"},
         claims=(Claim("saves 60-80 %", "activations saved, %", 60, 80),
                 Claim("costs 30-40 % time", "time, %", 30, 40))),
    Case("checkpoint groups of 4 blocks", {"recompute": "every:4"}),
    Case("checkpoint attention only", {"recompute": "selective"}),
    Case("activations in INT8", {"precision": "bf16", "activations": "int8"}, "BF16 autocast",
         claims=(Claim("saves 50 %", "activations saved, %", 45, 55),)),
    Case("activations in FP8", {"precision": "bf16", "activations": "fp8"}, "BF16 autocast"),
    Case("Lion", {"optimizer": "lion"},
         claims=(Claim("12 -> 8 bytes", "weight and state, bytes per parameter", 7.9, 8.1),)),
    Case("Adam-mini", {"optimizer": "adam-mini"},
         claims=(Claim("12 -> 6 bytes", "weight and state, bytes per parameter", 5.9, 6.1),)),
    Case("Muon", {"optimizer": "muon"}),
    Case("8-bit Adam", {"optimizer": "adam8bit"},
         claims=(Claim("12 -> 8 bytes", "weight and state, bytes per parameter", 7.9, 8.1),)),
    Case("BF16 weights, FP32 master", {"param-dtype": "bf16", "master-weights": "fp32"},
         claims=(Claim("4 -> 2 bytes", "weight, bytes per parameter", 1.99, 2.01),)),
    Case("BF16 weights, stochastic rounding", {"param-dtype": "bf16", "rounding": "stochastic"},
         claims=(Claim("4 -> 2 bytes", "weight, bytes per parameter", 1.99, 2.01),)),
    Case("4 micro-batches", {"micro-batches": "4"}),
    Case("gradients released in backward", {"release-gradients": "true"}),
    Case("gradients clipped", {"max-grad-norm": "1"}),
    Case("compiled kernels", COMPILED),
]

# Forms of recomputation of compiled kernels: the curve of the compiler's budget, beside full.
RECOMPUTED = [Case(f"compiled kernels, {name}", {**COMPILED, "recompute": recompute}, "compiled kernels")
              for name, recompute in (*((f"budget {share}", f"budget:{share}") for share in ("0.75", "0.5", "0.25", "0")),
                                      ("checkpoint every block", "full"))]

# Usual combinations.
TOGETHER = [
    Case("FP8 products, flash, 8-bit Adam", {"precision": "fp8", "attention": "flash",
                                             "optimizer": "adam8bit"}, "BF16 autocast",
         may_be_refused=True),
    Case("flash, checkpoint full", {**FLASH, "recompute": "full"}, "BF16 autocast"),
    Case("checkpoint 50 %, INT8", {"precision": "bf16", "recompute": "blocks:50%",
                                   "activations": "int8"}, "BF16 autocast",
         claims=(Claim("saves 70-80 %", "activations saved, %", 70, 80),)),
    Case("flash, checkpoint full, 8-bit Adam", {**FLASH, "recompute": "full",
                                                "optimizer": "adam8bit"}, "BF16 autocast"),
    Case("flash, INT8, 8-bit Adam", {**FLASH, "activations": "int8", "optimizer": "adam8bit"},
         "BF16 autocast"),
    Case("checkpoint full, 4 micro-batches", {"recompute": "full", "micro-batches": "4"}),
    Case("checkpoint full, Lion, gradients released",
         {"recompute": "full", "optimizer": "lion", "release-gradients": "true"}),
    Case("BF16 weights with master, checkpoint full",
         {"param-dtype": "bf16", "master-weights": "fp32", "recompute": "full"}),
    Case("BF16 weights, Lion, gradients released, checkpoint full",
         {"param-dtype": "bf16", "rounding": "stochastic", "optimizer": "lion",
          "release-gradients": "true", "recompute": "full"}),
    Case("BF16 weights, 8-bit Adam, 4 micro-batches, checkpoint full",
         {"param-dtype": "bf16", "rounding": "stochastic", "optimizer": "adam8bit",
          "micro-batches": "4", "recompute": "full"}),
]

CASES = SINGLE + RECOMPUTED + TOGETHER

# The short table.
FIRST = ["as it is", "flash attention, BF16 autocast", "activations in INT8", "checkpoint every block", "8-bit Adam",
         "BF16 weights, Lion, gradients released, checkpoint full"]


def case_of(name):
    return next(case for case in CASES if case.name == name)
