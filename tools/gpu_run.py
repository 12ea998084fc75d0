"""What gpu_check.py does on the host with the GPU: tasks, the most telling first, until the minutes are over.

Every task is a process with a time limit, and the result file is written after each one; a second run goes on where the
first ended. Nothing but Python's own library is needed here; PyTorch, JAX and llm.c
only where they are compared with.
"""

from __future__ import annotations

import array
import ctypes
import datetime
import json
import math
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import gpu_cases

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE / "work"
# Seconds that a task may take, and that must be left for it to begin.
BOUNDS = {"smoke": (60, 5), "launches": (60, 5), "losses": (60, 5), "rate": (90, 15), "kernels": (60, 15),
          "torch losses": (90, 20),
          "torch reduce-overhead": (180, 45), "jax": (150, 45), "llm.c": (120, 30), "torch eager": (120, 30),
          "torch max-autotune": (240, 60)}
# Peers that are timed, what tells most first. A mode that searches takes longest, and may end in a crash.
PEERS = ("torch reduce-overhead", "jax", "llm.c", "torch eager", "torch max-autotune")


class Failure(Exception):
    """Why a task has no answer, in one line, and the end of what the process wrote to stderr."""

    def __init__(self, reason: str, stderr: str = "", stdout: str = "") -> None:
        super().__init__(reason)
        self.stderr = stderr[-6000:]
        self.stdout = stdout


def library_folders() -> list[str]:
    """Where Python's packages keep cuBLAS and cuDNN, for hosts that have them nowhere else."""
    return [str(folder) for place in sys.path if place for folder in sorted(pathlib.Path(place).glob("nvidia/*/lib"))]


def execute(command: list, seconds: float) -> str:
    """Standard output of a process, which is ended with all that it started when its time is over."""
    return execute_with_stderr(command, seconds)[0]


def execute_with_stderr(command: list, seconds: float, variables: dict[str, str] | None = None) -> tuple[str, str]:
    """As execute(), with standard error."""
    paths = [path for path in (os.environ.get("LD_LIBRARY_PATH"), *library_folders(), str(HERE / "lib")) if path]
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(WORK / "inductor"), "PYTHONDONTWRITEBYTECODE": "1",
                                "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "LD_LIBRARY_PATH": ":".join(paths),
                                **(variables or {})}
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env=environment)
    try:
        out, err = process.communicate(timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
        raise Failure(f"took more than {seconds:.0f} s", err) from None
    if process.returncode != 0:
        lines = err.strip().splitlines() or ["no message"]
        raise Failure(f"exit code {process.returncode}: {lines[-1][-600:]}", err, out)
    return out, err


# ---- Ranks -----------------------------------------------------------------------------------------------------------


def count_gpus() -> int:
    try:
        listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return len(listed.stdout.splitlines())


def ranks_in(place: pathlib.Path) -> int:
    """Processes of the case in a folder."""
    facts = place / "case.json"
    return gpu_cases.from_facts(json.loads(facts.read_text())).ranks if facts.exists() else 1


def launcher(ranks: int) -> tuple[str, ...]:
    """What starts a program in so many processes."""
    if ranks == 1:
        return ()
    if shutil.which("torchrun"):
        return ("torchrun", "--no-python", "--standalone", f"--nproc-per-node={ranks}", "--")
    return ("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks))


def lacking_gpus(facts: dict) -> dict | None:
    """The answer of a task for which there are too few GPUs; None: there are enough. Emulated ones always are."""
    ranks, there = gpu_cases.from_facts(facts).ranks, count_gpus()
    if ranks == 1 or facts.get("emulated") or ranks <= there:
        return None
    return {"skipped": f"needs {ranks} GPUs, this host has {there}"}


# ---- Tasks -----------------------------------------------------------------------------------------------------------


def train_with_stderr(place: pathlib.Path, steps: int, seconds: float, *more: str,
                      variables: dict[str, str] | None = None, before: tuple[str, ...] = ()) -> tuple[list[dict], str]:
    """The steps in the log of a run, and its standard error. `before` is a command that runs the program."""
    log = WORK / "log.jsonl"
    log.unlink(missing_ok=True)
    command = [*launcher(ranks_in(place)), *before, place / "train", "--data", place / "tokens.bin", "--steps", steps, "--seed", 1, "--log", log]
    _, err = execute_with_stderr([*command, "--quiet", *more], seconds, variables)
    return [line for line in map(json.loads, log.read_text().splitlines()) if "loss" in line], err


def train(place: pathlib.Path, steps: int, seconds: float, *more: str) -> list[dict]:
    """The steps in the log of a run."""
    return train_with_stderr(place, steps, seconds, *more)[0]


def check_losses(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """Losses against the CPU's, and against a second run."""
    if lacking := lacking_gpus(facts):
        return lacking
    runs = [[line["loss"] for line in train(place, facts["steps"], seconds / 2)] for _ in range(2)]
    worst, bound = gpu_cases.worst_of(runs[0], facts["losses"]), gpu_cases.TOLERANCES[facts["precision"]]
    repeats = runs[0] == runs[1]
    return {"worst": worst, "bound": bound, "repeats": repeats, "ok": worst <= bound and repeats, "losses": runs[0]}


def smoke(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """What `--smoke` tries: trials that failed, and products that the library lacks."""
    if lacking := lacking_gpus(facts):
        return lacking
    try:
        out, error = execute([*launcher(ranks_in(place)), place / "train", "--smoke"], seconds), None
    except Failure as failure:
        out, error = failure.stdout, str(failure)
    try:
        trials = json.loads(out)["trials"]
    except ValueError:
        raise Failure(error or "--smoke printed no JSON") from None
    rows = {name: outcome for trial in trials for name, outcome in trial.get("rows", {}).items()}
    return {"ok": all(trial["ok"] for trial in trials),
            "failed": {trial["name"]: trial["error"] for trial in trials if not trial["ok"]},
            "absent": [name for name, outcome in rows.items() if outcome == "absent"],
            "rows": {name: outcome for name, outcome in rows.items() if outcome not in ("ok", "absent")},
            "trials": {trial["name"]: trial["seconds"] for trial in trials}}


def compare_launches(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """Whether each launch of the second step writes what the host computes: losses of small models hide a causal mask
    that lets one key more in."""
    if gpu_cases.from_facts(facts).is_large:
        return {"skipped": "too much for the host to compute"}
    if gpu_cases.from_facts(facts).ranks > 1:
        return {"skipped": "is of one rank"}
    run = [place / "train", "--data", place / "tokens.bin", "--steps", 2, "--seed", 1, "--compare-launches"]
    try:
        said = [line for line in execute(run, seconds).splitlines() if "launches as the host's" in line]
    except Failure as failure:
        error = str(failure).partition("error: ")[2]
        if not re.match("launch |function ", error):
            raise
        return {"ok": False, "wrong": error, "stderr": failure.stderr}
    return {"ok": True, "said": said[0]}


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
    folder = WORK / "dump"
    shutil.rmtree(folder, ignore_errors=True)
    train(place, 1, seconds, "--dump", str(folder))
    ours, theirs = read_tensors(folder / "step1.safetensors"), read_tensors(place / "step1.safetensors")
    rows = [{"tensor": name, "difference": difference(ours[name], values)} for name, values in theirs.items()]
    return sorted(rows, key=lambda row: -row["difference"])[:8]


def is_right(losses: list[float], facts: dict) -> bool:
    """Whether the first losses are the CPU's."""
    return gpu_cases.worst_of(losses, facts["losses"][: len(losses)]) <= gpu_cases.TOLERANCES[facts["precision"]]


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
            lines, err = train_with_stderr(place, 3, left, variables=rerun.variables, before=rerun.before)
            found[rerun.name] = {"losses": [line["loss"] for line in lines], "stderr": err[-3000:]}
        except (Failure, OSError, ValueError) as error:
            found[rerun.name] = {"error": str(error), "stderr": getattr(error, "stderr", "")[-3000:]}
    try:
        if (place / "step1.safetensors").exists():
            found["gradients"] = compare_gradients(place, max(5.0, min(30.0, ends - time.monotonic())))
    except (Failure, OSError, ValueError, KeyError) as error:
        found["gradients"] = {"error": str(error)}
    failed = case.get("smoke", {}).get("failed", {})
    return {"cause": "; ".join(f"{name}: {error}" for name, error in failed.items()) or "not found", **found}


def bytes_in(info: str, name: str) -> int:
    """The bytes that a line of --info gives for `name`; 0 without such a line."""
    for line in info.splitlines():
        if line.strip().startswith(name + " ") and " bytes " in line:
            return int(line.split(" bytes ")[0].split()[-1])
    return 0


def measure_rate(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """Milliseconds of a step; of a deterministic case also whether a second run has equal bits."""
    ends, case = time.monotonic() + seconds, gpu_cases.from_facts(facts)
    flags = ("--deterministic",) if case.is_deterministic else ()
    lines = train(place, facts["steps"], seconds, *flags)
    losses = [line["loss"] for line in lines]
    steady = lines[len(lines) // 3 :]
    ms = statistics.median(line["ms"] for line in steady)
    shares = [line["mfu"] for line in steady if line.get("mfu")]
    info = execute([place / "train", "--info"], 20)
    found = {"ms": ms, "tokens_per_second": 1e3 * facts["batch"] * facts["sequence"] / ms,
             "mfu": statistics.median(shares) if shares else None,
             "peak_bytes": bytes_in(info, "arena (peak)") + bytes_in(info, "library workspace"), "losses": losses}
    if flags:
        again = train(place, facts["steps"], ends - time.monotonic(), *flags)
        found["repeats"] = found["ok"] = losses == [line["loss"] for line in again]
    return found


def kind_of(event: dict) -> str:
    """The family of kernels, the op that names it, and its place in the model with a star for layers."""
    return re.sub(r"\d+", "*", f"{event['cat'] or 'other'}: {event['name']}")


def sum_kernels(trace: dict) -> list[dict]:
    """Time and rates of a step by kind of kernel, the longest first. A group of several launches counts its cost
    once."""
    sums: dict[str, dict] = {}
    for event in trace["traceEvents"]:
        if event["ph"] != "X" or event["cat"] == "idle":  # names of tracks, and gaps
            continue
        facts = event["args"]
        row = sums.setdefault(kind_of(event), {"kind": kind_of(event), "ms": 0.0, "launches": 0, "bytes": 0.0,
                                               "flops": 0.0, "tensor_cores": facts.get("tensor_cores")})
        row["ms"] += event["dur"] / 1e3
        row["launches"] += 1
        for name in ("bytes", "flops"):
            row[name] += facts.get(name, 0) / facts.get("launches", 1)
    rows = sorted(sums.values(), key=lambda row: -row["ms"])
    for row in rows:
        seconds = row["ms"] / 1e3
        row["gb_per_s"] = row["bytes"] / seconds / 1e9 if seconds else None
        row["tflops"] = row["flops"] / seconds / 1e12 if seconds else None
    return rows


def profile_kernels(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    trace = WORK / f"{place.name}-trace.json"
    train(place, 4, seconds, "--profile", str(trace))
    events = json.loads(trace.read_text())
    return {"libraries": events["otherData"]["library"], "kernels": sum_kernels(events)}


def ask_peer(name: str, place: pathlib.Path, seconds: float, *more: str) -> dict:
    out = execute([sys.executable, HERE / "gpu_peers.py", name, place / "case.json", *more], seconds)
    return json.loads(out.splitlines()[-1])


def compare_rates(place: pathlib.Path, facts: dict, seconds: float, ask: Callable[[float], dict]) -> dict:
    """The rate of the peer that is asked and, right before it, ours: a GPU's clocks differ from hour to hour."""
    ends = time.monotonic() + seconds
    ours = measure_rate(place, facts, seconds)["ms"]
    return {"ours_ms": ours, **ask(ends - time.monotonic())}


def compare_with(name: str, *more: str) -> Callable[[pathlib.Path, dict, float], dict]:
    """The task that compares rates with a peer of gpu_peers.py."""
    return lambda place, facts, seconds: compare_rates(place, facts, seconds,
                                                       lambda left: ask_peer(name, place, left, *more))


# Width and heads of the models that llm.c makes of a number of layers, all with 1024 positions, in bf16.
LLMC_MODELS = {12: (768, 12), 24: (1024, 16), 36: (1280, 20), 48: (1600, 25)}


def find_llmc() -> str | None:
    """The program of llm.c: HONE_LLMC, or train_gpt2cu of the path."""
    return shutil.which(os.environ.get("HONE_LLMC") or "train_gpt2cu")


def llmc_knows(facts: dict) -> bool:
    settings = facts["settings"]
    kind = (facts["model"], facts["precision"], facts["sequence"], settings.get("vocab"))
    model = (settings.get("width", 768), settings.get("heads", 12))
    return kind == ("gpt2", "bf16", 1024, None) and LLMC_MODELS.get(settings.get("layers", 12)) == model


def llmc_rate(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """The median of what llm.c prints for each step, without the first third. Its best settings: nothing is computed
    twice. It evaluates once before the first step and once after the last, which its times leave out."""
    values = array.array("H", (place / "tokens.bin").read_bytes())
    data = WORK / "llmc.bin"
    data.write_bytes(array.array("i", [20240520, 1, len(values), *[0] * 253]).tobytes() + values.tobytes())
    batch, sequence, layers = facts["batch"], facts["sequence"], facts["settings"].get("layers", 12)
    out = execute([find_llmc(), "-i", data, "-j", data, "-e", f"d{layers}", "-b", batch, "-t", sequence,
                   "-d", batch * sequence, "-x", facts["steps"], "-l", "6e-4", "-c", "0.1", "-r", 0, "-v", 1_000_000,
                   "-m", 1, "-s", 0], seconds)
    times = [float(ms) for ms in re.findall(r"^step +\d+/\d+ .*\| ([\d.]+) ms \|", out, re.MULTILINE)]
    if len(times) != facts["steps"]:
        raise Failure(f"printed {len(times)} steps, expected {facts['steps']}", out)
    memory = re.search(r"device memory usage: (\d+) MiB", out)
    ms = statistics.median(times[len(times) // 3 :])
    return {"ms": ms, "tokens_per_second": 1e3 * batch * sequence / ms,
            "peak_bytes": int(memory[1]) << 20 if memory else None}


# The task that compares a program with itself, its products beside other launches: is it worth to be the default?
BRANCHES = "HONE_PARALLEL_BRANCHES"


def branches_rate(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """Our own, with products beside other launches."""
    lines, _ = train_with_stderr(place, facts["steps"], seconds, variables={"HONE_PARALLEL_BRANCHES": "1"})
    ms = statistics.median(line["ms"] for line in lines[len(lines) // 3 :])
    return {"ms": ms, "tokens_per_second": 1e3 * facts["batch"] * facts["sequence"] / ms}


def compare_branches(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    return compare_rates(place, facts, seconds, lambda left: branches_rate(place, facts, left))


def torch_losses(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """Ours, which were checked before, against PyTorch's from the same weights and tokens."""
    ends = time.monotonic() + seconds
    weights = place / "weights.safetensors"
    try:
        train(place, 0, seconds, "--save", str(weights))
        ours = [line["loss"] for line in train(place, facts["steps"], ends - time.monotonic())]
        answer = ask_peer("torch-losses", place, ends - time.monotonic(), str(weights))
    finally:
        weights.unlink(missing_ok=True)
    worst, bound = gpu_cases.worst_of(ours, answer["losses"]), gpu_cases.TOLERANCES[facts["precision"]]
    return {"worst": worst, "bound": bound, "ok": worst <= bound, **answer}


TASKS: dict[str, Callable[[pathlib.Path, dict, float], dict]] = {
    "smoke": smoke,
    "launches": compare_launches,
    "losses": check_losses,
    "rate": measure_rate,
    "kernels": profile_kernels,
    BRANCHES: compare_branches,
    "torch losses": torch_losses,
    "torch reduce-overhead": compare_with("torch-rate", "reduce-overhead"),
    "torch max-autotune": compare_with("torch-rate", "max-autotune"),
    "torch eager": compare_with("torch-rate", "eager"),
    "jax": compare_with("jax-rate"),
    "llm.c": lambda place, facts, seconds: compare_rates(place, facts, seconds,
                                                         lambda left: llmc_rate(place, facts, left)),
}


# Those whose failure makes a run "not as expected".
OURS = ("smoke", "launches", "losses", "rate", "torch losses")


def plan(cases: dict[str, dict]) -> list[tuple[str, str]]:
    """Tasks (case, task) in the order of what they tell: is it right, how fast is it, which kernel is slow; then peers,
    one of which takes longer than all of ours."""
    known = {name: gpu_cases.from_facts(facts) for name, facts in cases.items()}
    checks = [name for name, facts in cases.items() if facts["kind"] == "check"]
    rates = [name for name, facts in cases.items() if facts["kind"] == "rate"]
    tasks = [(name, task) for name in checks for task in ("smoke", "launches", "losses")]
    tasks += [(name, task) for name in rates for task in ("rate", "kernels")]
    tasks += [(name, "torch losses") for name in checks
              if not cases[name]["settings"].get("dropout") and known[name].ranks == 1 and known[name].has_peers]
    compared = [name for name in rates if not known[name].is_deterministic and known[name].has_peers]
    tasks += [(name, BRANCHES) for name in compared]
    tasks += [(name, peer) for peer in PEERS for name in compared if peer != "llm.c" or llmc_knows(cases[name])]
    return tasks + [(name, "torch losses") for name in compared]


# ---- Host ------------------------------------------------------------------------------------------------------------


def describe_host() -> dict:
    """The GPU, its driver, and the versions of what is beside it."""
    facts = {"date": f"{datetime.datetime.now():%Y-%m-%d %H:%M}", "host": platform.processor() or platform.machine(),
             "gpu": None, "torch": None, "jax": None, "llm.c": pathlib.Path(find_llmc() or "").name or None}
    try:
        query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,power.limit",
                                "--format=csv,noheader"], capture_output=True, text=True, check=True)
        names = ("gpu", "driver", "memory", "power limit")
        facts |= dict(zip(names, query.stdout.splitlines()[0].split(", "), strict=True))
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        pass
    for module in ("torch", "jax"):
        found = subprocess.run([sys.executable, "-c", f"import {module}; print({module}.__version__)"],
                               capture_output=True, text=True)
        if found.returncode == 0:
            facts[module] = found.stdout.split()[-1]
    return facts


class Driver:
    """The few calls of libcuda.so.1 that a copy on the device takes."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        context, self.device = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def close(self) -> None:
        """Gives the device's memory back, events and all."""
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)

    def call(self, name: str, *arguments) -> None:
        if code := getattr(self.library, name)(*arguments):
            raise Failure(f"{name}: CUDA error {code}")

    def memory(self, size: int) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event


def measure_copy(size: int = 2**30, times: int = 20) -> dict:
    """GB/s, read and written together, of copies of `size` bytes from device memory to device memory."""
    try:
        driver = Driver()
        source, target, begin, end = driver.memory(size), driver.memory(size), driver.event(), driver.event()
        milliseconds = []
        for _ in range(times):
            driver.call("cuEventRecord", begin, None)
            driver.call("cuMemcpyDtoDAsync_v2", target, source, ctypes.c_size_t(size), None)
            driver.call("cuEventRecord", end, None)
            driver.call("cuEventSynchronize", end)
            passed = ctypes.c_float()
            driver.call("cuEventElapsedTime", ctypes.byref(passed), begin, end)
            milliseconds.append(passed.value)
        for address in (source, target):
            driver.call("cuMemFree_v2", address)
        driver.close()
    except (OSError, Failure) as error:
        return {"error": str(error)}
    return {"bytes": 2 * size, "gb_per_s": 2 * size / statistics.median(milliseconds[2:]) / 1e6}


def probe_nccl() -> dict:
    """What NCCL does as the only rank on the GPU, where it was packed: a line for each call that works."""
    probe = HERE / "hone-probe-nccl"
    if not probe.exists():
        return {"skipped": "not packed"}
    try:
        return {"ok": True, "works": execute([probe], 120).splitlines()}
    except (OSError, Failure) as error:
        return {"ok": False, "error": str(error)}


# ---- The run ---------------------------------------------------------------------------------------------------------


def needs(task: str) -> str | None:
    """What a task compares with, as describe_host() names it."""
    return "torch" if task.startswith("torch ") else task if task in PEERS else None


def perform(task: str, place: pathlib.Path, facts: dict, deadline: float) -> dict:
    bound, least = BOUNDS[task]
    left = deadline - time.monotonic()
    if left < least:
        return {"skipped": "no time left"}
    try:
        return TASKS[task](place, facts, min(bound, left))
    except Failure as error:
        return {"error": str(error), "stderr": error.stderr}
    except (OSError, ValueError, LookupError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def start_result(path: pathlib.Path) -> dict:
    """What an earlier run on the same GPU and driver found, or nothing yet."""
    host = describe_host()
    if path.exists():
        earlier = json.loads(path.read_text())
        if all(earlier["host"].get(key) == host.get(key) for key in ("gpu", "driver")):
            return earlier | {"host": earlier["host"] | {key: host[key] for key in ("torch", "jax", "llm.c")}}
    return {"host": host, "copy": measure_copy(), "nccl": probe_nccl(), "cases": {}}


def is_done(outcome: dict | None) -> bool:
    return outcome is not None and "error" not in outcome and "skipped" not in outcome


def run(result: pathlib.Path, minutes: float, only: list[str] | None, tasks: list[str] | None = None) -> int:
    deadline = time.monotonic() + 60 * minutes
    WORK.mkdir(exist_ok=True)
    for program in [*HERE.glob("*/train"), *HERE.glob("hone-probe-nccl")]:
        program.chmod(0o755)  # a copy may have lost it
    found = {place.parent.name: json.loads(place.read_text()) for place in HERE.glob("*/case.json")}
    cases = {name: found[name] for name in gpu_cases.CASES if name in found and name in (only or found)}
    report = start_result(result)
    for name, facts in cases.items():
        shown = ("model", "batch", "sequence", "precision", "kind", "options", "arch", "emulated", "estimate")
        report["cases"].setdefault(name, {key: facts[key] for key in shown if key in facts})
    # What failed before comes last: a peer that crashes each time takes no time from the others.
    for name, task in sorted(plan(cases), key=lambda each: "error" in report["cases"][each[0]].get(each[1], {})):
        case = report["cases"][name]
        if task not in (tasks or TASKS) or is_done(case.get(task)) or (needs(task) and not report["host"][needs(task)]):
            continue
        start = time.monotonic()
        case[task] = perform(task, HERE / name, cases[name], deadline)
        if task == "losses" and ("error" in case[task] or not case[task].get("ok", True)):
            case[task] |= find_cause(HERE / name, cases[name], case, min(60.0, deadline - time.monotonic()))
        case[task]["seconds"] = round(time.monotonic() - start, 1)
        long = ("losses", "kernels", "libraries", "trials", "rows", "gradients", *(rerun.name for rerun in RERUNS))
        shown = {key: value for key, value in case[task].items() if key not in long}
        print(f"{name} {task}: {json.dumps(shown)}", flush=True)
        draft = result.with_suffix(".tmp")
        draft.write_text(json.dumps(report, indent=1) + "\n")
        draft.replace(result)
    outcomes = [case.get(task, {}) for case in report["cases"].values() for task in OURS]
    good = bool(cases) and all(outcome.get("ok", True) and "error" not in outcome for outcome in outcomes)
    print("all as expected" if good else "not as expected")
    return 0 if good else 1
