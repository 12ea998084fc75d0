"""Packs what a GPU has to show, and runs it there: see gpu-check.sh.

A folder holds, per case of gpu_cases.py, an executable and `case.json`: how it is run, and of `check` cases the losses
that the same program has on the CPU that packed it, from the same weights (drawn by seed) and tokens. On the GPU
(gpu_run.py) losses must be those within a tolerance, twice with equal bits; `rate` cases are timed, kernel by kernel
too, and beside them the peers' steps of the same model. The result is one JSON with the GPU's name, driver and library
versions.
"""

from __future__ import annotations

import argparse
import array
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import asdict

import gpu_cases
import gpu_run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCES = ("python_frontend/examples/gpt2.py", "python_frontend/examples/llama.py", "python_frontend/hone")
# What a folder may have, to travel to the other host.
LARGEST_MIB = 54
SCRIPTS = ("gpu-check.sh", "gpu_check.py", "gpu_cases.py", "gpu_causes.py", "gpu_host.py", "gpu_process.py",
           "gpu_ranks.py", "gpu_run.py", "gpu_peers.py", "one_gpu_nccl.cu", "jax_peer.py", "peers.py")


ORDERS = """On the host with the GPU, in this folder: ours, that is correctness, rates and kernels; then peers. The second goes
on where the first ended; result.json has all.

    sh gpu-check.sh run result.json --minutes 4 --tasks smoke,launches,losses,rate,kernels
    sh gpu-check.sh run result.json --minutes 9
"""


@contextlib.contextmanager
def without_values():
    """Creates models without random weights: the program draws its own, and drawing those of a large model takes
    minutes and memory."""
    import torch

    names = [name for name in dir(torch.nn.init) if name.endswith("_") and not name.startswith("_")]
    kept = {name: getattr(torch.nn.init, name) for name in names}
    try:
        for name in names:
            setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
        yield
    finally:
        for name, function in kept.items():
            setattr(torch.nn.init, name, function)


def export(case: gpu_cases.Case, package: pathlib.Path) -> None:
    import hone

    with without_values():
        training = gpu_cases.make_training(case)
    init = {"*.bias": {"dist": "constant", "value": 0.0}, "*ln_*.weight": {"dist": "constant", "value": 1.0},
            "*norm*.weight": {"dist": "constant", "value": 1.0}, "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
    hone.export(training.model, training.loss_fn, training.example_batch, optimizer=training.optimizer,
                clip=training.clip, out=str(package), init=init)


def write_tokens(path: pathlib.Path, case: gpu_cases.Case) -> None:
    """As many ids as the steps of a rate case take, up to 1 MiB; after its end the file is read from the start
    again."""
    if case.text:
        prose = b"".join(page.read_bytes() for page in sorted((ROOT / "docs" / "rationale").glob("*.md")))
        path.write_bytes(array.array("H", (256 - byte for byte in prose[: 1 << 19])).tobytes())  # no file of text
        return
    draw = random.Random(1)
    count = min(1 << 19, max(20_000, case.step_tokens * case.steps + 1))
    below = min(case.vocab, 1 << 16)
    path.write_bytes(array.array("H", [draw.randrange(below) for _ in range(count)]).tobytes())


def estimates_in(report: pathlib.Path) -> dict:
    """Milliseconds of a step that honec expects, and of the kernels of each family."""
    facts = json.loads(report.read_text())
    sums: collections.Counter[str] = collections.Counter()
    for launch in facts["launches"]:
        if launch["function"] != "evaluate":
            sums[launch["family"]] += 1e3 * launch["seconds"] * launch["times"]
    return {"estimate": dict(sums), "expected_ms": 1e3 * facts["step"]["seconds"]}


def pack_case(name: str, arguments: argparse.Namespace, work: pathlib.Path) -> None:
    case, place, package = gpu_cases.CASES[name], arguments.folder / name, work / f"{name}.hone"
    honec = ROOT / "build" / "bin" / "honec"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    export(case, package)
    options = [f"--precision={case.precision}", *case.options]
    gpu = f"--device={arguments.device}" if arguments.device else f"--arch={arguments.arch}"
    cuda = ["--target=cuda", gpu, *(["--emulate"] if arguments.emulate else [])]
    if case.kind == "check" and not case.is_large and not arguments.emulate and case.ranks == 1:
        cuda.append("--host-kernels")  # for --compare-launches
    report = work / "report"
    reports = [f"--report={report}"] if case.ranks == 1 else []
    subprocess.run([honec, package, "-o", place / "train", *options, *cuda, *reports], check=True)
    if shutil.which("strip"):  # names of functions are a fifth of an executable
        subprocess.run(["strip", "--strip-all", place / "train"], check=True)
    write_tokens(place / "tokens.bin", case)
    facts = {"name": name, **asdict(case), "arch": arguments.arch, "emulated": arguments.emulate,
             **(estimates_in(report / "report.json") if reports else {})}
    if case.kind == "check":
        alone = [f"--precision={case.precision}", *case.options_of_one_rank]
        subprocess.run([honec, package, "-o", work / "train", *alone], check=True)
        log = work / "log.jsonl"
        log.unlink(missing_ok=True)
        run = [work / "train", "--data", place / "tokens.bin", "--seed", "1", "--quiet", "--steps"]
        subprocess.run([*run, str(case.steps), "--log", log], check=True, stdout=subprocess.DEVNULL)
        if not case.is_large:
            subprocess.run([*run, "1", "--dump", place], check=True, stdout=subprocess.DEVNULL)
        entries = map(json.loads, log.read_text().splitlines())
        facts["losses"] = [entry["loss"] for entry in entries if "loss" in entry]
    (place / "case.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"{name}: {sum(file.stat().st_size for file in place.iterdir()) / 2**20:.1f} MiB", flush=True)


def pack(arguments: argparse.Namespace) -> int:
    sys.path[:0] = [str(ROOT / "python_frontend"), str(ROOT / "python_frontend/examples")]
    folder = arguments.folder
    work = ROOT / "build" / "gpu-check"
    for made in (work, folder):
        made.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in arguments.only or gpu_cases.CASES:
        try:
            pack_case(name, arguments, work)
        except subprocess.CalledProcessError as error:  # which has said why
            program = pathlib.Path(error.cmd[0]).name
            print(f"{name}: is left out: {program} ended with exit code {error.returncode}", flush=True)
            shutil.rmtree(folder / name)
            failed.append(name)
    for source in SOURCES:
        target = folder / "python" / pathlib.Path(source).name
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / source, target)
    (folder / "README").write_text(ORDERS)
    for file in SCRIPTS:
        shutil.copy(HERE / file, folder / file)
    for gomp in ("/usr/lib/x86_64-linux-gnu/libgomp.so.1", "/usr/lib/aarch64-linux-gnu/libgomp.so.1"):
        if pathlib.Path(gomp).exists():
            (folder / "lib").mkdir(exist_ok=True)
            shutil.copy(gomp, folder / "lib")
    if not arguments.emulate:
        shutil.copy(ROOT / "build" / "bin" / "hone-probe-nccl", folder / "hone-probe-nccl")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    print(f"{folder}: {size:.1f} MiB")
    if not arguments.archive:
        return 1 if failed else 0
    archive = folder.with_name(folder.name + ".tar.xz")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(folder, folder.name)
    size = archive.stat().st_size / 2**20
    print(f"{archive}: {size:.1f} MiB; there: python3 -m tarfile -e {archive.name}")
    if size > LARGEST_MIB:
        print(f"error: {archive}: {size:.1f} MiB, expected {LARGEST_MIB} at most (--only leaves cases out)",
              file=sys.stderr)
    return 0 if size <= LARGEST_MIB and not failed else 1


def some_of(known: Iterable[str], what: str) -> Callable[[str], list[str]]:
    """Reads names of a command line, each one of `known`."""

    def read(text: str) -> list[str]:
        for name in text.split(","):
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is no {what}, expected one of {', '.join(known)}")
        return text.split(",")

    return read


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=pathlib.Path)
    packing.add_argument("--arch", default="sm_90")
    packing.add_argument("--device", metavar="NAME", help="a GPU as honec knows it, for which times are estimated")
    packing.add_argument("--emulate", action="store_true")
    packing.add_argument("--archive", action="store_true")
    packing.add_argument("--only", type=some_of(gpu_cases.CASES, "case"))
    running = commands.add_parser("run")
    running.add_argument("result", type=pathlib.Path, nargs="?", default=HERE / "result.json")
    running.add_argument("--minutes", type=float, default=8)
    running.add_argument("--only", type=some_of(gpu_cases.CASES, "case"))
    running.add_argument("--tasks", type=some_of(gpu_run.TASKS, "task"))
    running.add_argument("--causes", type=float, default=60.0, metavar="SECONDS",
                         help="what looking for the cause of wrong losses may take, per case")
    arguments = parser.parse_args()
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    if arguments.command == "pack":
        return pack(arguments)
    return gpu_run.run(arguments.result, arguments.minutes, arguments.only, arguments.tasks, arguments.causes)


if __name__ == "__main__":
    sys.exit(main())
