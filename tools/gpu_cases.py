"""What gpu_check.py shows on a GPU, case by case."""

from __future__ import annotations

import dataclasses
import math
import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """A training step. `check` cases are trained on the CPU too, and the GPU must give the same losses; `rate` cases
    are timed."""

    model: str  # "gpt2", "llama" or "mixture"
    settings: dict  # of its Config
    batch: int
    sequence: int
    precision: str
    kind: str  # "check" or "rate"
    steps: int = 10
    options: tuple[str, ...] = field(default=())
    text: bool = False  # bytes of prose to learn, in place of random ids

    @property
    def vocab(self) -> int:
        return self.settings.get("vocab", {"gpt2": 50257, "llama": 32000, "mixture": 32000}[self.model])

    @property
    def is_large(self) -> bool:
        """Too large for what a host computes alone, or for tensors that travel."""
        return self.settings.get("width", 768) > 64

    @property
    def mesh(self) -> dict[str, int]:
        """Ranks along each axis."""
        meshes = [option.removeprefix("--mesh=") for option in self.options if option.startswith("--mesh=")]
        axes = [axis.split("=") for axis in ",".join(meshes).split(",") if axis]
        return {name: int(ranks) for name, ranks in axes}

    @property
    def ranks(self) -> int:
        """Processes, each with a GPU of its own where there are as many."""
        return math.prod(self.mesh.values())

    @property
    def micro_batches(self) -> int:
        """Batches of a step."""
        counts = [option.removeprefix("--micro-batches=") for option in self.options]
        return next((int(count) for count in counts if count.isdigit()), 1)

    @property
    def step_tokens(self) -> int:
        """Tokens that a step trains on."""
        return self.micro_batches * self.batch * self.sequence

    @property
    def batch_text(self) -> str:
        """Rows and positions: "2 x 4096", of 8 micro-batches "8 x 2 x 4096"."""
        counts = [self.micro_batches] if self.micro_batches > 1 else []
        return " x ".join(map(str, [*counts, self.batch, self.sequence]))

    @property
    def has_stages(self) -> bool:
        return "pp" in self.mesh

    @property
    def options_of_one_rank(self) -> tuple[str, ...]:
        """Of the same training on one rank."""
        return tuple(option for option in self.options
                     if not option.startswith(("--mesh=", "--recipe=", "--schedule=")))

    @property
    def is_deterministic(self) -> bool:
        """Runs must have equal bits: they get --deterministic."""
        return "--deterministic-attention" in self.options

    @property
    def has_room(self) -> bool:
        """Whether all stays on the GPU, as peers have it."""
        return not any(option.startswith("--memory-budget=") for option in self.options)

    @property
    def has_peers(self) -> bool:
        """PyTorch and JAX have no fp8 training of their own, and a host with a GPU need not have transformers."""
        return self.has_room and not self.precision.startswith(("fp8", "mxfp8")) and self.model != "mixture"

    @property
    def tolerance(self) -> float:
        return CURVE_TOLERANCE if self.text else TOLERANCES[self.precision]

    def difference(self, ours: list[float], theirs: list[float]) -> float:
        """The largest difference of losses, relative to max(1, loss). Of a curve, where steps part by chance, that of
        the means of its last tenth."""
        if self.text:
            last = len(theirs) // 10
            ours, theirs = [statistics.fmean(ours[-last:])], [statistics.fmean(theirs[-last:])]
        return max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(ours, theirs, strict=True))

    @property
    def padded(self) -> "Case":
        """The same with a vocabulary that suits tensor cores, for peers; ids stay below that of the case."""
        settings = self.settings | {"vocab": (self.vocab + 63) // 64 * 64}
        return dataclasses.replace(self, settings=settings)


def from_facts(facts: dict) -> Case:
    """The case that a case.json describes."""
    names = ("model", "settings", "batch", "sequence", "precision", "kind", "steps")
    return Case(**{name: facts[name] for name in names}, options=tuple(facts["options"]), text=facts.get("text", False))


def _gpt2(layers: int, heads: int, width: int, batch: int, steps: int, *options: str) -> Case:
    settings = {"gelu": "tanh", "layers": layers, "heads": heads, "width": width}
    return Case("gpt2", settings, batch, 1024, "bf16", "rate", steps, options)


# Of losses, relative to max(1, loss): fp32 sums in another order; bf16 and fp16 round otherwise, which ten steps
# amplify; fp8 has 16 times coarser codes, of which the GPU's own sums may differ. (The CPU target and PyTorch on a CPU
# differ by 2e-7 and 4e-5 in the tiny cases.) Of a curve, its end: see Case.difference.
TOLERANCES = {"fp32": 1e-4, "bf16": 5e-3, "fp16": 5e-3, "fp8": 2e-2, "fp8-block": 2e-2}
CURVE_TOLERANCE = 5e-3

_FULL = {"gelu": "tanh"}  # as GPT-2 was trained
_TINY = _FULL | {"vocab": 257, "context": 64, "layers": 2, "heads": 4, "width": 64}
_LLAMA_1B = {"vocab": 128256, "context": 2048, "layers": 16, "heads": 32, "key_heads": 8, "width": 2048,
             "hidden": 8192, "theta": 5e5}
_LLAMA_8B = _LLAMA_1B | {"context": 4096, "layers": 12, "width": 4096, "hidden": 14336}
# All of it, within what a card of 24 GB has for a program: docs/benchmarks/offload-plans.md.
_WHOLE_8B = _LLAMA_8B | {"context": 8192, "layers": 32}
_WITHIN_22GIB = ("--micro-batches=8", "--gradients=bf16", "--offload=auto", "--memory-budget=22GiB")
_LLAMA_TINY = {"vocab": 257, "layers": 2, "heads": 4, "key_heads": 2, "width": 64, "hidden": 160}

_MIXTURE_TINY = _LLAMA_TINY | {"hidden": 96, "experts": 4, "chosen": 2}
# 1.4 billion parameters in the experts of four layers.
_MIXTURE = {"layers": 4, "heads": 16, "key_heads": 8, "width": 2048, "hidden": 7168, "experts": 8,
            "chosen": 2}


def _curve(precision: str, *options: str) -> Case:
    return Case("llama", _LLAMA_TINY, 8, 64, precision, "check", 300, options, text=True)


# Within a kind, what tells most comes first: a run ends when its minutes do.
CASES = {
    "gpt2-tiny-fp32": Case("gpt2", _TINY, 2, 64, "fp32", "check"),
    "gpt2-tiny-bf16": Case("gpt2", _TINY, 2, 64, "bf16", "check"),
    # The same in parts: what is right without a part of the libraries tells which part is wrong.
    "gpt2-tiny-bf16-plain": Case("gpt2", _TINY, 2, 64, "bf16", "check",
                                 options=("--attention=unfused", "--without=epilogues")),
    "gpt2-tiny-fp16": Case("gpt2", _TINY, 2, 64, "fp16", "check"),
    "gpt2-tiny-dropout": Case("gpt2", _TINY | {"dropout": 0.1}, 2, 64, "fp32", "check", options=("--micro-batches=2",)),
    "llama-tiny-bf16": Case("llama", _LLAMA_TINY, 2, 64, "bf16", "check"),
    # Products of groups on tensor cores, of 64 rows for each expert on average.
    "mixture-tiny-bf16": Case("mixture", _MIXTURE_TINY, 2, 64, "bf16", "check"),
    # fp8, also of weights too small to gain by it: products, quantisation, and the loss beside the CPU target's.
    "llama-tiny-fp8": Case("llama", _LLAMA_TINY, 2, 64, "fp8", "check", options=("--fp8-small",)),
    "llama-tiny-fp8-block": Case("llama", _LLAMA_TINY, 2, 64, "fp8-block", "check", options=("--fp8-small",)),
    "gpt2-tiny-fp8-e5m2": Case("gpt2", _TINY, 2, 64, "fp8", "check", options=("--fp8-small", "--fp8-gradients=e5m2")),
    # State in pinned memory of the host, in many parts, and values of the forward part that go there and back.
    "gpt2-tiny-offload": Case("gpt2", _TINY, 2, 64, "bf16", "check",
                              options=("--micro-batches=2", "--offload=state", "--offload-chunk=6000")),
    "gpt2-tiny-away": Case("gpt2", _TINY, 2, 64, "bf16", "check",
                           options=("--offload=activations", "--offload-least=1", "--checkpoint=away",
                                    "--memory-budget=1GiB")),
    # Weights that are copied up layer by layer, and gradients in bf16.
    "llama-tiny-weights": Case("llama", _LLAMA_TINY, 2, 64, "bf16", "check",
                               options=("--micro-batches=2", "--offload=weights", "--offload-least=1",
                                        "--gradients=bf16")),
    # Rows that no vector of 16 bytes divides, parts of buffers that begin anywhere.
    "llama-odd-fp32": Case("llama", {"vocab": 61, "layers": 2, "heads": 3, "key_heads": 1, "width": 18, "hidden": 31},
                           2, 16, "fp32", "check"),
    # Ranks, which share a GPU where there are too few: collectives within the step's graph.
    "gpt2-tiny-dp2-zero3": Case("gpt2", _TINY, 2, 64, "bf16", "check", options=("--mesh=dp=2", "--recipe=zero3")),
    "llama-tiny-tp2-sp": Case("llama", _LLAMA_TINY, 2, 64, "bf16", "check", options=("--mesh=tp=2", "--recipe=sp")),
    "llama-tiny-fs2-fp8": Case("llama", _LLAMA_TINY, 2, 64, "fp8-block", "check",
                               options=("--mesh=fs=2", "--recipe=zero3", "--fp8-small")),
    # Pipelines: messages between stages, and graphs of functions.
    "gpt2-tiny-pp2": Case("gpt2", _TINY, 2, 64, "fp32", "check", options=("--mesh=pp=2", "--micro-batches=4")),
    "gpt2-tiny-pp2-bf16": Case("gpt2", _TINY, 2, 64, "bf16", "check",
                               options=("--mesh=pp=2", "--micro-batches=4", "--schedule=zb-h1")),
    "llama-tiny-pp2-dp2": Case("llama", _LLAMA_TINY, 2, 64, "bf16", "check",
                               options=("--mesh=pp=2,dp=2", "--recipe=zero1", "--micro-batches=4")),
    # Positions divided among them: calls of runs of queries, and the parts of a ring.
    "llama-tiny-cp2-gather": Case("llama", _LLAMA_TINY, 2, 64, "bf16", "check",
                                  options=("--mesh=cp=2", "--recipe=cp-gather", "--attention=fused")),
    "llama-tiny-cp2-ring": Case("llama", _LLAMA_TINY, 2, 64, "bf16", "check",
                                options=("--mesh=cp=2", "--recipe=cp-ring", "--attention=fused")),
    # 300 steps of prose in each precision: curves of the GPU beside the CPU's.
    "llama-tiny-curve-bf16": _curve("bf16"),
    "llama-tiny-curve-fp8": _curve("fp8", "--fp8-small"),
    "llama-tiny-curve-fp8-block": _curve("fp8-block", "--fp8-small"),
    "gpt2-124m-fp32": Case("gpt2", _FULL, 2, 64, "fp32", "check"),
    "gpt2-124m-bf16": Case("gpt2", _FULL, 2, 64, "bf16", "check"),
    "gpt2-124m": _gpt2(12, 12, 768, 64, 24),
    # torch.compile (2.11) ends above 2^31 logits: "an illegal memory access was encountered".
    "gpt2-124m-32": _gpt2(12, 12, 768, 32, 24),
    "gpt2-124m-deterministic": _gpt2(12, 12, 768, 64, 24, "--deterministic-attention"),
    "gpt2-1.5b": _gpt2(48, 25, 1600, 16, 10),
    # Heads of 64, a vocabulary of 128 k: the shape of Llama 3.2 1B, with a head of its own.
    "llama-1b": Case("llama", _LLAMA_1B, 8, 2048, "bf16", "rate", 10),
    # As many layers of Llama 3 8B as leave room in 139 GiB for peers that keep more.
    "llama-8b-layers": Case("llama", _LLAMA_8B, 2, 4096, "bf16", "rate", 8),
    # Products of groups of 512, 128 and 64 rows on average beside dense ones: `kernels` has the rates of both.
    "mixture-512-rows": Case("mixture", _MIXTURE, 2, 1024, "bf16", "rate", 8),
    "mixture-128-rows": Case("mixture", _MIXTURE, 1, 512, "bf16", "rate", 8),
    "mixture-64-rows": Case("mixture", _MIXTURE, 1, 256, "bf16", "rate", 8),
    # Llama in fp8, beside the bf16 cases.
    "llama-1b-fp8": Case("llama", _LLAMA_1B, 8, 2048, "fp8", "rate", 10),
    "llama-1b-fp8-block": Case("llama", _LLAMA_1B, 8, 2048, "fp8-block", "rate", 10),
    "llama-8b-layers-fp8": Case("llama", _LLAMA_8B, 2, 4096, "fp8", "rate", 8),
    "llama-8b-layers-fp8-block": Case("llama", _LLAMA_8B, 2, 4096, "fp8-block", "rate", 8),
    # 18 GB of state cross the link twice per step: as long as the dry run says?
    "llama-1b-offload": Case("llama", _LLAMA_1B, 8, 2048, "bf16", "rate", 10, ("--offload=state",)),
    "llama-8b-22gib": Case("llama", _WHOLE_8B, 2, 4096, "bf16-sr", "rate", 3, _WITHIN_22GIB),
    "llama-8b-22gib-fp8": Case("llama", _WHOLE_8B, 2, 4096, "fp8", "rate", 3, (*_WITHIN_22GIB, "--moments=8bit")),
    "gpt2-350m": _gpt2(24, 16, 1024, 32, 12),
    "gpt2-774m": _gpt2(36, 20, 1280, 16, 10),
}

def make_training(case: Case):
    """The hone.Training of the example model that the case names."""
    module = __import__(case.model)
    return module.training(module.Config(**case.settings), case.batch, case.sequence)
