"""Packs what a GPU has to show, and runs it there: see gpu-check.sh.

A folder holds, per case of CASES, an executable and `case.json`: how it is run, and the losses that the same program has on the
CPU that packed it, from the same weights (drawn by seed) and tokens. On the GPU losses of `check` cases must be those within a
tolerance, twice with equal bits; `rate` cases are timed, and beside them PyTorch's step of the same model, compiled with its best
settings, as far as the minutes last. The result is one JSON with the GPU's name, driver and library versions.
"""

from __future__ import annotations

import argparse
import array
import datetime
import json
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

import peers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCES = ("python_frontend/examples/gpt2.py", "python_frontend/examples/llama.py", "python_frontend/hone")
# Of losses, relative to max(1, loss): fp32 sums in another order; bf16 rounds otherwise, which ten steps amplify.
TOLERANCES = {"fp32": 1e-4, "bf16": 5e-3, "fp16": 5e-3}


@dataclass(frozen=True)
class Case:
    model: str  # "gpt2" or "llama"
    settings: dict  # of its Config
    batch: int
    sequence: int
    precision: str
    kind: str  # "check" or "rate"
    steps: int = 10
    options: tuple[str, ...] = field(default=())

    @property
    def vocab(self) -> int:
        return self.settings.get("vocab", 50257)


FULL = {"gelu": "tanh"}  # as GPT-2 was trained
TINY = FULL | {"vocab": 257, "context": 64, "layers": 2, "heads": 4, "width": 64}
CASES = {
    "gpt2-tiny-fp32": Case("gpt2", TINY, 2, 64, "fp32", "check"),
    "gpt2-tiny-bf16": Case("gpt2", TINY, 2, 64, "bf16", "check"),
    "gpt2-tiny-fp16": Case("gpt2", TINY, 2, 64, "fp16", "check"),
    "gpt2-tiny-dropout": Case("gpt2", TINY | {"dropout": 0.1}, 2, 64, "fp32", "check", options=("--micro-batches=2",)),
    "llama-tiny-bf16": Case("llama", {"vocab": 257, "layers": 2, "heads": 4, "key_heads": 2, "width": 64, "hidden": 160},
                            2, 64, "bf16", "check"),
    # Rows that no vector of 16 bytes divides, parts of buffers that begin anywhere.
    "llama-odd-fp32": Case("llama", {"vocab": 61, "layers": 2, "heads": 3, "key_heads": 1, "width": 18, "hidden": 31},
                           2, 16, "fp32", "check"),
    "gpt2-124m-fp32": Case("gpt2", FULL, 2, 64, "fp32", "check"),
    "gpt2-124m-bf16": Case("gpt2", FULL, 2, 64, "bf16", "check"),
    "gpt2-124m": Case("gpt2", FULL, 16, 1024, "bf16", "rate", 20),
    "gpt2-350m": Case("gpt2", FULL | {"layers": 24, "heads": 16, "width": 1024}, 8, 1024, "bf16", "rate", 12),
    "gpt2-774m": Case("gpt2", FULL | {"layers": 36, "heads": 20, "width": 1280}, 4, 1024, "bf16", "rate", 10),
}


def make_training(case: Case):
    module = __import__(case.model)
    return module.training(module.Config(**case.settings), case.batch, case.sequence)


def write_tokens(path: pathlib.Path, vocab: int) -> None:
    draw = random.Random(1)
    path.write_bytes(array.array("H", [draw.randrange(vocab) for _ in range(200_000)]).tobytes())


def read_log(path: pathlib.Path) -> list[dict]:
    return [line for line in map(json.loads, path.read_text().splitlines()) if "loss" in line]


def train(binary: pathlib.Path, tokens: pathlib.Path, steps: int, log: pathlib.Path, *more: str) -> list[dict]:
    """The lines of the log. A run that fails raises, with what it said."""
    log.unlink(missing_ok=True)
    command = [binary, "--data", tokens, "--steps", str(steps), "--seed", "1", "--log", log, "--quiet", *more]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{binary.name}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return read_log(log)


# ---- Here ------------------------------------------------------------------------------------------------------------


def export(case: Case, package: pathlib.Path) -> None:
    import hone
    import torch

    # Weights are drawn by the program; tables of a model (rotary embeddings) must have their values.
    with torch.device("meta" if case.model == "gpt2" else "cpu"):
        training = make_training(case)
    init = {"*.bias": {"dist": "constant", "value": 0.0}, "*ln_*.weight": {"dist": "constant", "value": 1.0},
            "*norm*.weight": {"dist": "constant", "value": 1.0}, "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
    hone.export(training.model, training.loss_fn, training.example_batch, optimizer=training.optimizer, clip=training.clip,
                out=str(package), init=init)


def pack(arguments: argparse.Namespace) -> int:
    sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend/examples")]
    folder = arguments.folder
    work = ROOT / "build" / "gpu-check"
    work.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    honec = ROOT / "build" / "bin" / "honec"
    for name in arguments.only or CASES:
        case = CASES[name]
        place, package = folder / name, work / f"{name}.hone"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        export(case, package)
        options = [f"--precision={case.precision}", *case.options]
        cuda = ["--target=cuda", f"--arch={arguments.arch}", *(["--emulate"] if arguments.emulate else [])]
        subprocess.run([honec, package, "-o", place / "train", *options, *cuda], check=True)
        write_tokens(place / "tokens.bin", case.vocab)
        facts = {"name": name, **asdict(case), "arch": arguments.arch}
        if case.kind == "check":
            subprocess.run([honec, package, "-o", work / "train", *options], check=True)
            lines = train(work / "train", place / "tokens.bin", case.steps, work / "log.jsonl")
            facts["losses"] = [line["loss"] for line in lines]
        (place / "case.json").write_text(json.dumps(facts, indent=1) + "\n")
        print(f"{name}: {sum(file.stat().st_size for file in place.iterdir()) / 2**20:.1f} MiB", flush=True)
    for source in SOURCES:
        target = folder / "python" / pathlib.Path(source).name
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / source, target)
    for file in (HERE / "gpu-check.sh", pathlib.Path(__file__), HERE / "peers.py"):
        shutil.copy(file, folder / file.name)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    print(f"{folder}: {size:.1f} MiB")
    return 0 if size < 60 else 1


# ---- There -----------------------------------------------------------------------------------------------------------


def describe_host() -> dict:
    """The GPU, its driver, and the versions of what is beside it."""
    facts = {"date": f"{datetime.datetime.now():%Y-%m-%d %H:%M}", "host": platform.processor() or platform.machine()}
    try:
        query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                               capture_output=True, text=True, check=True)
        name, driver, memory = query.stdout.splitlines()[0].split(", ")
        facts |= {"gpu": name, "driver": driver, "memory": memory}
    except (OSError, subprocess.CalledProcessError, ValueError):
        facts["gpu"] = None
    try:
        import torch

        facts |= {"torch": torch.__version__, "cuda": torch.version.cuda}
    except ImportError:
        facts["torch"] = None
    return facts


def check(place: pathlib.Path, facts: dict, work: pathlib.Path) -> dict:
    """Losses against the CPU's, and against a second run of the GPU."""
    runs = [[line["loss"] for line in train(place / "train", place / "tokens.bin", facts["steps"], work / "log.jsonl")]
            for _ in range(2)]
    worst = max(abs(ours - theirs) / max(1.0, abs(theirs)) for ours, theirs in zip(runs[0], facts["losses"], strict=True))
    bound = TOLERANCES[facts["precision"]]
    return {"worst": worst, "bound": bound, "repeats": runs[0] == runs[1], "losses": runs[0],
            "ok": worst <= bound and runs[0] == runs[1]}


def rate(place: pathlib.Path, facts: dict, work: pathlib.Path) -> dict:
    lines = train(place / "train", place / "tokens.bin", facts["steps"], work / "log.jsonl")
    ms = statistics.median(line["ms"] for line in lines[len(lines) // 3 :])
    tokens = facts["batch"] * facts["sequence"]
    info = subprocess.run([place / "train", "--info"], capture_output=True, text=True).stdout
    return {"ms": ms, "tokens_per_second": 1e3 * tokens / ms, "mfu": lines[-1].get("mfu"), "info": info, "ok": True}


def rate_torch(facts: dict) -> dict:
    """PyTorch's compiled step of the same model: its own process, for its memory goes with it."""
    command = [sys.executable, __file__, "peer", json.dumps(facts)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": done.stderr.strip()[-400:]}
    return json.loads(done.stdout.splitlines()[-1])


def peer(text: str) -> int:
    import torch

    sys.path[:0] = [str(HERE / "python")]
    facts = json.loads(text)
    fields = {key: facts[key] for key in ("model", "settings", "batch", "sequence", "precision", "kind")}
    case = Case(**fields)
    padded = (case.vocab + 63) // 64 * 64
    torch.set_float32_matmul_precision("high")
    training = make_training(Case(**fields | {"settings": case.settings | {"vocab": padded}}))
    step = peers.torch_step(training, case.vocab, case.batch, case.sequence, case.precision, compiles=True, device="cuda",
                            mode="max-autotune-no-cudagraphs")
    for _ in range(4):
        step()
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(4):
            step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start) / 4)
    ms = statistics.median(times)
    print(json.dumps({"ms": ms, "tokens_per_second": 1e3 * case.batch * case.sequence / ms,
                      "peak_bytes": torch.cuda.max_memory_allocated()}))
    return 0


def run(arguments: argparse.Namespace) -> int:
    deadline = time.monotonic() + 60 * arguments.minutes
    work = HERE / "work"
    work.mkdir(exist_ok=True)
    result = {"host": describe_host(), "cases": {}}
    folders = sorted((place for place in HERE.iterdir() if (place / "case.json").exists()), key=lambda place: place.name)
    cases = [(place, json.loads((place / "case.json").read_text())) for place in folders]
    ok = bool(cases)
    for kind in ("check", "rate"):
        for place, facts in cases:
            if facts["kind"] != kind:
                continue
            if time.monotonic() > deadline:
                outcome = {"skipped": "no time left"}
            else:
                try:
                    outcome = check(place, facts, work) if kind == "check" else rate(place, facts, work)
                except RuntimeError as error:
                    outcome = {"error": str(error), "ok": False}
                if kind == "rate" and result["host"]["torch"] and time.monotonic() < deadline:
                    outcome["torch.compile"] = rate_torch(facts)
            ok &= outcome.get("ok", True)
            result["cases"][place.name] = {**{key: facts[key] for key in ("batch", "sequence", "precision")}, **outcome}
            shown = {key: value for key, value in outcome.items() if key not in ("losses", "info")}
            print(f"{place.name}: {json.dumps(shown)}", flush=True)
            arguments.result.write_text(json.dumps(result, indent=1) + "\n")
    print("all as expected" if ok else "not as expected")
    return 0 if ok else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=pathlib.Path)
    packing.add_argument("--arch", default="sm_90")
    packing.add_argument("--emulate", action="store_true")
    packing.add_argument("--only", type=lambda text: text.split(","))
    running = commands.add_parser("run")
    running.add_argument("result", type=pathlib.Path, nargs="?", default=HERE / "result.json")
    running.add_argument("--minutes", type=float, default=8)
    commands.add_parser("peer").add_argument("facts")
    arguments = parser.parse_args()
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    if arguments.command == "pack":
        return pack(arguments)
    return run(arguments) if arguments.command == "run" else peer(arguments.facts)


if __name__ == "__main__":
    sys.exit(main())
