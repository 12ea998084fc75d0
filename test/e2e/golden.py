"""Compares a compiled (or interpreted) training run with the eager PyTorch run stored in a package.

  golden.py PKG.hone --honec PATH [--hone-run PATH [--f64]] [--threads N] [--work DIR]

The package's golden.safetensors holds N steps: the token stream, the loss of each step, the gradients of the first, and the
parameters after the last (python_frontend/hone/golden.py). The bars are those of the issue tracker's first slice:

- every loss within 1e-5 of PyTorch's fp32 loss;
- every gradient of step 1: RMSE at most 1e-5 of its RMS, or at most twice PyTorch's own fp32 error against fp64, whichever
  is larger (a gradient that is zero up to rounding has no relative accuracy to ask for).

Prints one line per quantity with the worst ratio to its bar; exits 1 when one is above it.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file

LOSS_BAR = 1e-5
GRAD_BAR = 1e-5


def run(command: list) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")


def rms(values: numpy.ndarray) -> float:
    return float(numpy.sqrt(numpy.mean(numpy.square(values, dtype=numpy.float64)))) if values.size else 0.0


def train(arguments: argparse.Namespace, work: pathlib.Path, steps: int) -> tuple[list[float], dict]:
    """Losses per step and the tensors dumped after the first, of a run over the golden stream."""
    package = arguments.package
    flags = ["--data", work / "tokens.npy", "--init", package / "model.safetensors", "--steps", steps,
             "--log", work / "run.jsonl", "--dump", work / "dump", "--threads", arguments.threads, "--quiet"]
    if arguments.hone_run:
        run([arguments.hone_run, package, *(["--f64"] if arguments.f64 else []), "--keep-gradients", *flags])
    else:
        binary = work / "train"
        run([arguments.honec, package, "-o", binary, "--keep-gradients"])
        run([binary, *flags])
    lines = [json.loads(line) for line in (work / "run.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line and "step" in line][:steps]
    return losses, load_file(work / "dump" / "step1.safetensors")


def check(arguments: argparse.Namespace, work: pathlib.Path) -> bool:
    golden = load_file(arguments.package / "golden.safetensors")
    numpy.save(work / "tokens.npy", golden["tokens"].astype(numpy.int32))
    expected = golden["loss_f64" if arguments.f64 else "loss"]
    losses, dumped = train(arguments, work, len(expected))
    worst = float(numpy.max(numpy.abs(numpy.array(losses) - expected)))
    ok = len(losses) == len(expected) and worst <= LOSS_BAR
    print(f"loss: {len(losses)} steps, worst difference {worst:.2e}, {worst / LOSS_BAR:.3f} of the bar")

    ratio, name_of_worst, count = 0.0, "", 0
    for name, reference in golden.items():
        if not name.startswith("grad."):
            continue
        exact = golden.get("grad_f64." + name[len("grad."):])
        own = rms(reference - exact) if exact is not None else 0.0
        wanted = exact if arguments.f64 and exact is not None else reference
        bar = max(GRAD_BAR * rms(wanted), 2 * own)
        error = rms(dumped[name] - wanted)
        count += 1
        if error > ratio * bar:
            ratio, name_of_worst = (error / bar if bar else float("inf")), name
    ok = ok and ratio <= 1
    print(f"gradients: {count} tensors, worst {name_of_worst}: {ratio:.3f} of the bar")
    return ok


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--honec", default="honec")
    parser.add_argument("--hone-run")
    parser.add_argument("--f64", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        if not check(arguments, work):
            sys.exit(1)


if __name__ == "__main__":
    main()
