"""What is broken where the GPU check finds wrong losses: it runs the case again, in ways that tell."""

from __future__ import annotations

import array
import json
import math
import pathlib
import re
import shutil
import time
from dataclasses import dataclass, field

import gpu_cases
import gpu_process
from gpu_process import Failure


@dataclass(frozen=True)
class Rerun:
    """A way to run a case again that has failed."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # a command that runs the program


RERUNS = (
    Rerun("launch by launch", variables={"HONE_CHECK_LAUNCHES": "1"}),
    Rerun("without CUDA's asynchrony", variables={"CUDA_LAUNCH_BLOCKING": "1"}),
    Rerun("library logs", variables={"CUBLASLT_LOG_LEVEL": "2", "CUDNN_LOGLEVEL_DBG": "2",
                                     "CUDNN_LOGDEST_DBG": "stderr"}),
    Rerun("memory checked", before=("compute-sanitizer", "--tool=memcheck", "--error-exitcode=9", "--print-limit=3")),
)


def read_tensors(path: pathlib.Path) -> dict[str, array.array]:
    """The fp32 tensors of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = array.array("f", data[8 + size + begin : 8 + size + end])
    return tensors


def difference(ours: array.array, theirs: array.array) -> float:
    """The norm of the difference, relative to theirs; not a number counts as infinite."""
    value = math.dist(ours, theirs) / max(math.hypot(*theirs), 1e-30)
    return value if math.isfinite(value) else math.inf


def compare_gradients(place: pathlib.Path, seconds: float) -> list[dict]:
    """The gradients of the first step that differ most from those of the CPU, which were packed."""
    folder = gpu_process.WORK / "dump"
    shutil.rmtree(folder, ignore_errors=True)
    gpu_process.train(place, 1, seconds, "--dump", str(folder))
    ours, theirs = read_tensors(folder / "step1.safetensors"), read_tensors(place / "step1.safetensors")
    rows = [{"tensor": name, "difference": difference(ours[name], values)} for name, values in theirs.items()]
    return sorted(rows, key=lambda row: -row["difference"])[:8]


def is_right(losses: list[float], facts: dict) -> bool:
    """Whether the first losses are the CPU's."""
    case = gpu_cases.from_facts(facts)
    return case.difference(losses, facts["losses"][: len(losses)]) <= case.tolerance


def name_cause(case: dict, reruns: dict[str, dict], facts: dict) -> str | None:
    """What is broken, from what is known of a case and from the reruns so far, in a line; None: not known."""
    failed = case.get("smoke", {}).get("failed", {})
    if "slots" in failed:
        return failed["slots"]
    if wrong := case.get("launches", {}).get("wrong"):
        return wrong
    by_launch = reruns.get("launch by launch", {})
    if match := re.search("error: ((?:launch|function) .*)", by_launch.get("error", "")):
        return match[1]
    if "losses" in by_launch and is_right(by_launch["losses"], facts):
        return f"graph: losses are right launch by launch; {failed.get('graph', 'wrong as a graph')}"
    return None


def find_cause(place: pathlib.Path, facts: dict, case: dict, seconds: float) -> dict:
    """What is broken in a case whose losses are wrong: `cause` in a line, and what the reruns that led to it said,
    losses or errors; where they tell nothing, the gradients that differ most too."""
    ends, found = time.monotonic() + seconds, {}
    for rerun in RERUNS:
        if cause := name_cause(case, found, facts):
            return {"cause": cause, **found}
        left = min(30.0, ends - time.monotonic())
        if left < 5 or (rerun.before and not shutil.which(rerun.before[0])):
            continue
        try:
            lines, err = gpu_process.train_with_stderr(place, 3, left, variables=rerun.variables, before=rerun.before)
            found[rerun.name] = {"losses": [line["loss"] for line in lines], "stderr": err[-3000:]}
        except (Failure, OSError, ValueError) as error:
            found[rerun.name] = {"error": str(error), "stderr": getattr(error, "stderr", "")[-3000:]}
    try:
        if (place / "step1.safetensors").exists() and not gpu_cases.from_facts(facts).has_stages:  # which dump nothing
            found["gradients"] = compare_gradients(place, max(5.0, min(30.0, ends - time.monotonic())))
    except (Failure, OSError, ValueError, KeyError) as error:
        found["gradients"] = {"error": str(error)}
    failed = case.get("smoke", {}).get("failed", {})
    return {"cause": "; ".join(f"{name}: {error}" for name, error in failed.items()) or "not found", **found}
