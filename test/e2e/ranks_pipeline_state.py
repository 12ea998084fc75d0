"""What a pipeline leaves behind, and what other meshes make of it: ranks_pipeline_state.py FIXTURES FOLDER.

Exact programs of Llama and of GPT-2, whose weight is tied, have the bits of one rank on every mesh: so they must after
a run goes on on another one, in files that are equal byte by byte. GPT-2 is also saved and read on every mesh without a
step in between. Flags that stages cannot obey are refused by name. Prints a line per case; exit 1 at the first that
fails.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from ranks import MPI, ranks_of, weights

MICRO = 4
REFUSED = {
    "--dump d": "--dump: this program has stages of a pipeline, expected one without",
    "--bench-collectives": "--bench-collectives: this program has stages of a pipeline, expected one without",
    "--compare-launches": "--compare-launches: this program has stages of a pipeline",
    "--smoke": "--smoke: this program runs on CPUs",
    "--generate a": "--generate: this program cannot generate",
    "--prompt-ids 1": "--prompt-ids: this program cannot generate",
}


class Wrong(Exception):
    """A case that did not go as it must."""


class Programs:
    """A model's programs, by mesh or MESH:SCHEDULE, and their runs."""

    def __init__(self, package: Path, folder: Path, *options: str) -> None:
        self.package, self.folder, self.options = package, folder, [f"--micro-batches={MICRO}", *options]
        folder.mkdir(parents=True)
        self.tokens = folder / "tokens.bin"
        self.tokens.write_bytes(bytes(i * i % 61 if i % 2 == 0 else 0 for i in range(4000)))

    def binary(self, mesh: str) -> Path:
        path = self.folder / (mesh or "one")
        if not path.exists():
            axes, _, schedule = mesh.partition(":")
            axes = [f"--mesh={axes}"] if axes else []
            axes += [f"--schedule={schedule}"] if schedule else []
            subprocess.run(["honec", self.package, "-o", path, *self.options, *axes], check=True)
        return path

    def start(self, mesh: str, *flags: str) -> subprocess.CompletedProcess[str]:
        launcher = ["mpirun", "-np", str(ranks_of(mesh.split(":")[0]))] if mesh else []
        command = [*launcher, self.binary(mesh), "--threads", "1", "--quiet", *flags]
        return subprocess.run(command, env=os.environ | MPI, capture_output=True, text=True, timeout=120, check=False)

    def train(self, mesh: str, steps: int, *flags: str) -> None:
        given = ["--data", str(self.tokens), "--steps", str(steps), "--check-replicas", "1", *flags]
        done = self.start(mesh, *given)
        if done.returncode != 0:
            raise Wrong(f"{mesh or 'one rank'} {flags}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def tensors(path: Path) -> dict[str, tuple]:
    """Type, shape and bytes of the tensors of a file, by name."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    entries = {name: entry for name, entry in json.loads(data[8:begin]).items() if name != "__metadata__"}
    ends = {name: [begin + offset for offset in entry["data_offsets"]] for name, entry in entries.items()}
    return {name: (entry["dtype"], entry["shape"], data[slice(*ends[name])]) for name, entry in entries.items()}


def same(path: Path, expected: Path, has_one_order: bool = True) -> None:
    """Byte by byte; or tensor by tensor, where a stage has layers that are not one behind the other."""
    read = Path.read_bytes if has_one_order else tensors
    if read(path) != read(expected):
        raise Wrong(f"{path} differs from {expected}")


def losses(log: Path) -> list[float]:
    entries = map(json.loads, log.read_text().splitlines())
    return [entry[key] for entry in entries for key in ("loss", "val_loss") if key in entry]


def goes_on_with_the_bits(llama: Programs) -> None:
    """Each pair of a pipeline and another mesh, both ways: files and losses of one rank that was not stopped."""
    folder = llama.folder

    def ends(mesh: str, checkpoints: Path, *flags: str) -> list[Path]:
        log, saved = checkpoints.with_suffix(".log"), checkpoints.with_suffix(".saved")
        validation = ["--val-data", str(llama.tokens), "--val-every", "2", "--val-batches", "3"]
        written = ["--checkpoint-dir", str(checkpoints), "--save", str(saved), "--log", str(log)]
        llama.train(mesh, 4, *written, *validation, *flags)
        return [saved, checkpoints / "step-00000004/state.safetensors", log]

    whole = ends("", folder / "whole")
    ways = [way for way in itertools.permutations(("pp=2", "pp=4", "", "tp=2"), 2) if {"pp=2", "pp=4"} & {*way}]
    # Several chunks per stage: other stages have the layers.
    ways += [("pp=2:zb-v", ""), ("pp=4", "pp=2:zb-v"), ("pp=2:interleaved=2", "pp=2:zb-v"), ("tp=2", "pp=2:interleaved=2")]
    for begin, end in ways:
        kept = folder / f"{begin}-to-{end}"
        llama.train(begin, 2, "--checkpoint-dir", str(kept))
        seen = ends(end, kept, "--resume")
        for path, expected in zip(seen[:2], whole[:2]):
            same(path, expected, ":" not in end)
        if losses(seen[2]) != losses(whole[2])[-len(losses(seen[2])) :]:
            raise Wrong(f"{begin} to {end}: losses {losses(seen[2])}, expected {losses(whole[2])}")


def is_read_elsewhere(gpt2: Programs) -> None:
    """A checkpoint and saved weights, read on another mesh that runs no step, are what that mesh saves."""
    folder = gpt2.folder
    read = {"pp=2": ["", "tp=2", "pp=4"], "": ["pp=2"], "tp=2": ["pp=2"], "pp=2:zb-v": ["", "pp=2", "pp=2:interleaved=2"]}
    for writer, readers in read.items():
        kept, saved = folder / f"kept-{writer}", folder / f"saved-{writer}"
        gpt2.train(writer, 2, "--checkpoint-dir", str(kept), "--save", str(saved))
        for reader in readers:
            again, started = folder / f"{writer}-{reader}-again", folder / f"{writer}-{reader}-started"
            gpt2.train(reader, 2, "--checkpoint-dir", str(kept), "--resume", "--save", str(again))
            same(again, saved, ":" not in reader + writer)
            gpt2.train(reader, 0, "--init", str(saved), "--save", str(started))
            if weights(started) != weights(saved):
                raise Wrong(f"{reader} reads other weights than {writer} saved")


def goes_on_with_tied_weights(gpt2: Programs) -> None:
    """Tied weights and their optimizer state: the steps behind a change of the mesh are those of a run without."""
    logs: dict[tuple[str, str], list[float]] = {}
    for begin, end in [("pp=2", "pp=2"), ("pp=2", ""), ("", "pp=2"), ("pp=2", "pp=4"), ("tp=2", "pp=2")]:
        kept = gpt2.folder / f"{begin}-to-{end}"
        validation = ["--val-data", str(gpt2.tokens), "--val-batches", "2", "--log", str(kept.with_suffix(".log"))]
        gpt2.train(begin, 2, "--checkpoint-dir", str(kept), *validation)
        gpt2.train(end, 4, "--checkpoint-dir", str(kept), "--resume", *validation)
        logs[begin, end] = losses(kept.with_suffix(".log"))
    expected = logs["pp=2", "pp=2"]
    for (begin, end), seen in logs.items():
        if len(seen) != 6 or seen != expected:
            raise Wrong(f"{begin} to {end}: losses {seen}, expected {expected}")


def obeys_or_refuses(gpt2: Programs) -> None:
    for flags, text in REFUSED.items():
        done = gpt2.start("pp=2", *flags.split())
        if done.returncode == 0 or text not in done.stderr:
            raise Wrong(f"{flags}: exit code {done.returncode}, expected {text!r}\n{done.stderr}")
    profile = gpt2.folder / "profile"
    gpt2.train("pp=2", 2, "--profile", str(profile), "--shuffle", "--tensorboard", str(gpt2.folder / "events"))
    launches = profile.read_text().count('"name":"attention_bwd bwd/blocks.0.attn"')
    if launches != MICRO:
        raise Wrong(f"the profile has {launches} backward passes of the first attention, expected {MICRO}")


def main(argv: list[str]) -> int:
    fixtures, folder = Path(argv[1]), Path(argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    llama = Programs(fixtures / "llama_tiny.hone", folder / "llama", "--exact")
    gpt2 = Programs(fixtures / "gpt2_tiny.hone", folder / "gpt2", "--exact")
    cases = {
        "a run goes on on another mesh with the bits of one rank": lambda: goes_on_with_the_bits(llama),
        "files of tied weights are read on every mesh": lambda: is_read_elsewhere(gpt2),
        "tied weights go on on another mesh": lambda: goes_on_with_tied_weights(gpt2),
        "flags that stages cannot obey are refused": lambda: obeys_or_refuses(gpt2),
    }
    for name, case in cases.items():
        try:
            case()
        except Wrong as wrong:
            print(f"{name}: {wrong}")
            return 1
        print(f"{name}: yes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
