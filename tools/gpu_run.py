"""What gpu_check.py does on the host with the GPU: tasks, the most telling first, until the minutes are over.

Every task is a process with a time limit, and the result file is written after each one; a second run goes on where the
first ended. Nothing but Python's own library is needed here; PyTorch, JAX and llm.c only where they
are compared with.
"""

from __future__ import annotations

import array
import json
import pathlib
import re
import statistics
import sys
import time
from collections.abc import Callable

import gpu_cases
import gpu_causes
import gpu_host
import gpu_process
from gpu_process import Failure

# Seconds that a task may take, and that must be left for it to begin.
BOUNDS = {"smoke": (60, 5), "launches": (60, 5), "losses": (60, 5), "rate": (180, 15), "kernels": (60, 15),
          "torch losses": (90, 20),
          "torch reduce-overhead": (180, 45), "torchao tensorwise": (180, 45), "torchao rowwise": (180, 45),
          "jax": (150, 45), "llm.c": (120, 30), "torch eager": (120, 30),
          "torch max-autotune": (240, 60)}
# Peers that are timed, what tells most first. A mode that searches takes longest, and may end in a crash.
PEERS = ("torch reduce-overhead", "torchao tensorwise", "torchao rowwise", "jax", "llm.c", "torch eager",
         "torch max-autotune")


# ---- Tasks -----------------------------------------------------------------------------------------------------------


def check_losses(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """Losses against the CPU's, and against a second run."""
    runs = [[line["loss"] for line in gpu_process.train(place, facts["steps"], seconds / 2)] for _ in range(2)]
    case = gpu_cases.from_facts(facts)
    worst, repeats = case.difference(runs[0], facts["losses"]), runs[0] == runs[1]
    found = {"worst": worst, "bound": case.tolerance, "repeats": repeats, "ok": worst <= case.tolerance and repeats}
    return found | {"losses": runs[0]}


def smoke(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """What `--smoke` tries: trials that failed, and products that the library lacks."""
    try:
        out, error = gpu_process.execute([*gpu_process.launcher(place), place / "train", "--smoke"], seconds), None
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
        said = [line for line in gpu_process.execute(run, seconds).splitlines() if "launches as the host's" in line]
    except Failure as failure:
        error = str(failure).partition("error: ")[2]
        if not re.match("launch |function ", error):
            raise
        return {"ok": False, "wrong": error, "stderr": failure.stderr}
    return {"ok": True, "said": said[0]}


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
    lines = gpu_process.train(place, facts["steps"], seconds, *flags)
    losses = [line["loss"] for line in lines]
    steady = lines[len(lines) // 3 :]
    ms = statistics.median(line["ms"] for line in steady)
    shares = [line["mfu"] for line in steady if line.get("mfu")]
    info = gpu_process.execute([place / "train", "--info"], 20)
    found = {"ms": ms, "tokens_per_second": 1e3 * case.step_tokens / ms,
             "mfu": statistics.median(shares) if shares else None,
             "peak_bytes": bytes_in(info, "arena (peak)") + bytes_in(info, "library workspace"),
             "host_bytes": bytes_in(info, "second arena (pinned)"), "losses": losses}
    if flags:
        again = gpu_process.train(place, facts["steps"], ends - time.monotonic(), *flags)
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
    trace = gpu_process.WORK / f"{place.name}-trace.json"
    gpu_process.train(place, 4, seconds, "--profile", str(trace))
    events = json.loads(trace.read_text())
    return {"libraries": events["otherData"]["library"], "kernels": sum_kernels(events)}


def ask_peer(name: str, place: pathlib.Path, seconds: float, *more: str) -> dict:
    peers = gpu_process.HERE / "gpu_peers.py"
    out = gpu_process.execute([sys.executable, peers, name, place / "case.json", *more], seconds)
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


def llmc_knows(facts: dict) -> bool:
    settings = facts["settings"]
    kind = (facts["model"], facts["precision"], facts["sequence"], settings.get("vocab"))
    model = (settings.get("width", 768), settings.get("heads", 12))
    return kind == ("gpt2", "bf16", 1024, None) and LLMC_MODELS.get(settings.get("layers", 12)) == model


def knows(peer: str, facts: dict) -> bool:
    """Whether a peer is compared with a case."""
    case = gpu_cases.from_facts(facts)
    if peer.startswith("torchao "):
        return case.has_room and case.precision.startswith("fp8")
    return not case.is_deterministic and case.has_peers and (peer != "llm.c" or llmc_knows(facts))


def llmc_rate(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """The median of what llm.c prints for each step, without the first third. Its best settings: nothing is computed
    twice. It evaluates once before the first step and once after the last, which its times leave out."""
    values = array.array("H", (place / "tokens.bin").read_bytes())
    data = gpu_process.WORK / "llmc.bin"
    data.write_bytes(array.array("i", [20240520, 1, len(values), *[0] * 253]).tobytes() + values.tobytes())
    batch, sequence, layers = facts["batch"], facts["sequence"], facts["settings"].get("layers", 12)
    out = gpu_process.execute([gpu_host.find_llmc(), "-i", data, "-j", data, "-e", f"d{layers}", "-b", batch,
                               "-t", sequence, "-d", batch * sequence, "-x", facts["steps"], "-l", "6e-4", "-c", "0.1",
                               "-r", 0, "-v", 1_000_000, "-m", 1, "-s", 0], seconds)
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
    lines, _ = gpu_process.train_with_stderr(place, facts["steps"], seconds, variables={"HONE_PARALLEL_BRANCHES": "1"})
    ms = statistics.median(line["ms"] for line in lines[len(lines) // 3 :])
    return {"ms": ms, "tokens_per_second": 1e3 * facts["batch"] * facts["sequence"] / ms}


def compare_branches(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    return compare_rates(place, facts, seconds, lambda left: branches_rate(place, facts, left))


def torch_losses(place: pathlib.Path, facts: dict, seconds: float) -> dict:
    """Ours, which were checked before, against PyTorch's from the same weights and tokens."""
    ends = time.monotonic() + seconds
    weights = place / "weights.safetensors"
    try:
        gpu_process.train(place, 0, seconds, "--save", str(weights))
        ours = [line["loss"] for line in gpu_process.train(place, facts["steps"], ends - time.monotonic())]
        answer = ask_peer("torch-losses", place, ends - time.monotonic(), str(weights))
    finally:
        weights.unlink(missing_ok=True)
    case = gpu_cases.from_facts(facts)
    worst = case.difference(ours, answer["losses"])
    return {"worst": worst, "bound": case.tolerance, "ok": worst <= case.tolerance, **answer}


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
    "torchao tensorwise": compare_with("torchao-rate", "tensorwise"),
    "torchao rowwise": compare_with("torchao-rate", "rowwise"),
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
              if not cases[name]["settings"].get("dropout") and known[name].ranks == 1 and known[name].has_peers
              and not known[name].text]
    compared = [name for name in rates if not known[name].is_deterministic and known[name].has_peers]
    tasks += [(name, BRANCHES) for name in compared]
    tasks += [(name, peer) for peer in PEERS for name in rates if knows(peer, cases[name])]
    return tasks + [(name, "torch losses") for name in compared]


# ---- The run ---------------------------------------------------------------------------------------------------------


def needs(task: str) -> str | None:
    """What a task compares with, as gpu_host.describe_host() names it."""
    return task.split()[0] if task.startswith("torch ") or task in PEERS else None


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
    host = gpu_host.describe_host()
    if path.exists():
        earlier = json.loads(path.read_text())
        if all(earlier["host"].get(key) == host.get(key) for key in ("gpu", "driver")):
            return earlier | {"host": earlier["host"] | {key: host.get(key) for key in gpu_host.PEERS}}
    return {"host": host, "copy": gpu_host.measure_copy(), "nccl": gpu_host.probe_nccl(), "cases": {}}


def is_done(outcome: dict | None) -> bool:
    return outcome is not None and "error" not in outcome and "skipped" not in outcome


def run(result: pathlib.Path, minutes: float, only: list[str] | None, tasks: list[str] | None = None,
        causes: float = 60.0) -> int:
    deadline = time.monotonic() + 60 * minutes
    gpu_process.WORK.mkdir(exist_ok=True)
    for program in [*gpu_process.HERE.glob("*/train"), *gpu_process.HERE.glob("hone-probe-nccl")]:
        program.chmod(0o755)  # a copy may have lost it
    found = {place.parent.name: json.loads(place.read_text()) for place in gpu_process.HERE.glob("*/case.json")}
    cases = {name: found[name] for name in gpu_cases.CASES if name in found and name in (only or found)}
    report = start_result(result)
    for name, facts in cases.items():
        shown = ("model", "batch", "sequence", "precision", "kind", "options", "arch", "emulated", "estimate",
                 "expected_ms")
        report["cases"].setdefault(name, {}).update({key: facts[key] for key in shown if key in facts})
    # What failed before comes last: a peer that crashes each time takes no time from the others.
    for name, task in sorted(plan(cases), key=lambda each: "error" in report["cases"][each[0]].get(each[1], {})):
        case = report["cases"][name]
        lacks = needs(task) and not report["host"].get(needs(task))
        if task not in (tasks or TASKS) or is_done(case.get(task)) or lacks:
            continue
        start = time.monotonic()
        case[task] = perform(task, gpu_process.HERE / name, cases[name], deadline)
        if task == "losses" and ("error" in case[task] or not case[task].get("ok", True)):
            seconds = min(causes, deadline - time.monotonic())
            case[task] |= gpu_causes.find_cause(gpu_process.HERE / name, cases[name], case, seconds)
        if gpu_process.shares_gpu(cases[name]):
            case[task]["shared_gpu"] = True
        case[task]["seconds"] = round(time.monotonic() - start, 1)
        long = ("losses", "kernels", "libraries", "trials", "rows", "gradients",
                *(rerun.name for rerun in gpu_causes.RERUNS))
        shown = {key: value for key, value in case[task].items() if key not in long}
        print(f"{name} {task}: {json.dumps(shown)}", flush=True)
        draft = result.with_suffix(".tmp")
        draft.write_text(json.dumps(report, indent=1) + "\n")
        draft.replace(result)
    outcomes = [case.get(task, {}) for case in report["cases"].values() for task in OURS]
    good = bool(cases) and all(outcome.get("ok", True) and "error" not in outcome for outcome in outcomes)
    print("all as expected" if good else "not as expected")
    return 0 if good else 1
