#!/usr/bin/env python3
"""Searches meshes for models that others trained, beside the plans that they published.

  .venv/bin/python tools/mesh_search.py [--packages build/benchmark/mesh-search] [--only NAME] [--check]
      [--compile] [-o docs/benchmarks/mesh-search.md]

Exports the models without weights (a few minutes in all, once), runs `honec --search-mesh` and `--compare-plan` with
tools/clusters/*.json, and writes the tables between the markers of the page; or, with --check, writes nothing and fails
where a best plan is 10 % slower than the published one, or a search takes a minute. With --compile, it exports each
model again with the batch that the printed command asks for, and gives that command to honec, as a dry run: the divided
step of a rank is planned, nothing is written. It prints processor seconds, memory and what honec says of the plan.
DeepSeek-V3 needs the libraries of `HONE_MODELS=1 tools/setup.sh`.
"""

from __future__ import annotations

import argparse
import mmap
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONEC = pathlib.Path(os.environ.get("HONEC", ROOT / "build" / "bin" / "honec"))
sys.path[:0] = [str(ROOT / folder) for folder in ("python_frontend", "python_frontend/examples", "test/models")]
MAP_NORESERVE = 0x4000  # of Linux; Python 3.11 has no name for it

# ---- Models ----------------------------------------------------------------------------------------------------------


def give_memory(model) -> None:
    """Parameters in place of those on the meta device. What nobody writes or reads takes no memory."""
    import torch

    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                size = parameter.numel() * parameter.element_size()
                area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
                tensor = torch.frombuffer(area, dtype=parameter.dtype).view(parameter.shape)
                module._parameters[name] = torch.nn.Parameter(tensor)


def gpt3(length: int):
    import gpt2
    import torch

    with torch.device("meta"):
        model = gpt2.training(
            gpt2.Config(gelu="tanh", layers=96, heads=96, width=12288, context=length, vocab=51200), 1, length
        )
    return model.model, model.loss_fn


def llama_405b(length: int):
    import llama
    import torch

    config = llama.Config(vocab=128256, context=length, layers=126, heads=128, key_heads=8, width=16384, hidden=53248,
                          theta=500000.0)
    with torch.device("meta"):
        model = llama.Llama(config)
    model.cos, model.sin = llama.rotary_table(length, config.width // config.heads, config.theta)
    give_memory(model)
    return model, llama.loss


def deepseek_v3(length: int):
    import torch
    from catalogue.libraries import prepare

    prepare()
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    config = DeepseekV3Config(use_cache=False, max_position_embeddings=length)  # the default is the published one
    config._experts_implementation = "grouped_mm"
    config._attn_implementation = "sdpa"
    with torch.device("meta"):
        model = DeepseekV3ForCausalLM(config)
    give_memory(model)
    for name, module in list(model.named_modules()):
        if name.endswith("rotary_emb"):
            model.get_submodule(name.rpartition(".")[0]).rotary_emb = type(module)(config)
    for name, buffer in list(model.named_buffers()):
        if buffer.is_meta:  # the biases of routers
            owner, _, own_name = name.rpartition(".")
            model.get_submodule(owner)._buffers[own_name] = torch.zeros(buffer.shape, dtype=buffer.dtype)

    def loss(model, tokens, targets):
        logits = model(tokens).logits
        return torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    return model, loss


def export(make: Callable, length: int, package: pathlib.Path, batch: int = 1) -> None:
    import hone
    import torch

    model, loss = make(length)
    ids = torch.zeros(batch, length, dtype=torch.long)
    if next(model.parameters()).is_meta:
        ids = ids.to("meta")
    init = {"*.bias": {"dist": "constant", "value": 0.0}, "*norm*.weight": {"dist": "constant", "value": 1.0},
            "*ln_*.weight": {"dist": "constant", "value": 1.0}, "*": {"dist": "normal", "mean": 0.0, "std": 0.02}}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    hone.export(model, loss, (ids, ids.clone()), optimizer=optimizer, out=str(package), init=init)


# ---- Published runs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    name: str
    package: str
    make: Callable
    length: int
    cluster: str
    arch: str
    ranks: int
    sequences: int  # of a step
    plan: str
    seconds: float  # of a step, as published
    bound: float = 1.1  # of the best plan, over the published one in the model


def llama_seconds(length: int, ranks: int, sequences: int, teraflops: float) -> float:
    """Of a step at a published rate: 6 FLOPs per parameter and token, and causal attention three times."""
    per_token = 6 * 405.85e9 + 3 * 2 * 126 * 16384 * length
    return per_token * length * sequences / (ranks * teraflops * 1e12)


LLAMA = "pp=16,fs={fs},{cp}tp=8,sp,zero1,interleaved=8,micro=1,keep=products,fused-attention"
RUNS = [
    # 96 s L h^2 (1 + s / 6h + V / 16 L h) FLOPs per sequence, layers computed again: PTD-P, equation 3.
    Run("GPT-3 175B", "gpt3", gpt3, 2048, "a100", "sm_80", 1024, 1536,
        "pp=8,dp=16,tp=8,interleaved=3,micro=1,keep=borders",
        96 * 1536 * 2048 * 96 * 12288**2 * (1 + 2048 / (6 * 12288) + 51200 / (16 * 96 * 12288)) / (1024 * 140e12)),
    Run("Llama-3 405B", "llama-405b", llama_405b, 8192, "h100", "sm_90", 8192, 2048, LLAMA.format(fs=64, cp=""),
        llama_seconds(8192, 8192, 2048, 430)),
    Run("Llama-3 405B", "llama-405b", llama_405b, 8192, "h100", "sm_90", 16384, 2048, LLAMA.format(fs=128, cp=""),
        llama_seconds(8192, 16384, 2048, 400)),
    Run("Llama-3 405B, 131072 positions", "llama-405b-128k", llama_405b, 131072, "h100", "sm_90", 16384, 128,
        LLAMA.format(fs=8, cp="cp=16,"), llama_seconds(131072, 16384, 128, 380)),
    Run("DeepSeek-V3", "deepseek-v3", deepseek_v3, 4096, "h800", "sm_90", 2048, 15360,
        "pp=16,fs=2,ep=64,zero1,zb-v,micro=1,keep=products,hide-rows,fused-attention", 19.926),
]


# ---- Running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    number: str  # or "*" or "="
    line: int
    seconds: float


def parse_rows(text: str) -> list[Row]:
    rows = []
    lines = text.splitlines()
    for index, line in enumerate(lines[:-1]):
        if lines[index + 1].startswith("     keeps "):
            value, unit = re.search(r" ([\d.]+) (m?s) ", line).groups()
            rows.append(Row(line.split()[0], index, float(value) * (1e-3 if unit == "ms" else 1)))
    return rows


def search(run: Run, packages: pathlib.Path) -> tuple[str, float]:
    """What honec prints, and its processor seconds."""
    package = packages / f"{run.package}.hone"
    if not package.is_dir():
        print(f"exporting {package}", flush=True)
        export(run.make, run.length, package)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(HONEC), str(package), "--target=cuda", f"--arch={run.arch}", "--precision=bf16", "--stream=low",
               f"--micro-batches={run.sequences}", f"--search-mesh={run.ranks}", f"--compare-plan={run.plan}",
               f"--cluster={ROOT}/tools/clusters/{run.cluster}.json"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# What honec is asked for in place of "-o train". ["-o", "/dev/null"] emits code as well.
COMPILE_ONLY = ["--dry-run"]


def export_apart(run: Run, package: pathlib.Path, batch: int) -> None:
    """Exports in a process of its own, whose memory is free then."""
    if not package.is_dir():
        print(f"exporting {package}", flush=True)
        words = ["--export", str(RUNS.index(run)), str(package), str(batch)]
        subprocess.run([sys.executable, __file__, *words], check=True)


def compile_best(run: Run, text: str, packages: pathlib.Path) -> str:
    """Compiles what the search prints as the command for the best plan; what that took."""
    pattern = r"to compile [\d*]+(?:, after an export with a batch of (\d+) in place of \d+)?:\n  honec (.*)"
    found = re.search(pattern, text)
    if not found:
        return "no plan compiles"
    batch = int(found[1] or 1)
    package = packages / (f"{run.package}.hone" if batch == 1 else f"{run.package}-{batch}.hone")
    export_apart(run, package, batch)
    words = found[2].replace(" -o train", "").split()
    command = [str(HONEC), str(package), *words[1:], *COMPILE_ONLY]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        texts = [(file.seek(0), file.read())[1] for file in (out, err)]
    plan = " ".join(word for word in words[1:] if re.match("--(mesh|recipe|schedule|micro|memory)", word))
    seconds = usage.ru_utime + usage.ru_stime
    took = f"{plan}: {seconds:.0f} s of processor time, {usage.ru_maxrss / 2**20:.1f} GiB of memory"
    if status:
        lines = [line for line in texts[1].splitlines() if "warning" not in line] or [f"status {status}"]
        return f"{took}: FAILED: {lines[0]}"
    lines = texts[0].splitlines()
    peaks = [line for line in lines if line.startswith("peak memory")]  # of each stage
    kept = [max(peaks, key=lambda line: int(re.search(r"\((\d+) bytes", line)[1]))]
    kept += [line for line in lines if re.match(r"(estimated step|throughput)", line)]
    return "\n".join([took, *(f"  {line}" for line in kept)])


def off(value: float, reference: float) -> str:
    return f"{100 * (value / reference - 1):+.1f} %"


def tables(results: list[tuple[Run, str, float]]) -> str:
    out = ["| model | GPUs | step, published | in the model | off | best plan | off that | plans | search |",
           "|---|---|---|---|---|---|---|---|---|"]
    for run, text, seconds in results:
        rows = parse_rows(text)
        compared = next(row for row in rows if row.number == "=")
        plans = int(re.search(r"meshes, (\d+) plans", text)[1])
        out.append(f"| {run.name} | {run.ranks} {run.cluster.upper()} | {run.seconds:.2f} s | "
                   f"{compared.seconds:.2f} s | {off(compared.seconds, run.seconds)} | {rows[0].seconds:.2f} s | "
                   f"{off(rows[0].seconds, compared.seconds)} | {plans:,} | {seconds:.0f} s |")
    out += ["", "The first five of ten; `*`: the best that compiles, if none of the ten does; `=`: the published one."]
    for run, text, _ in results:
        lines = text.splitlines()
        head = next(index for index, line in enumerate(lines) if line.lstrip().startswith("mesh  "))
        out += ["", f"### {run.name} on {run.ranks} {run.cluster.upper()}", "", "```", lines[head]]
        for row in parse_rows(text):
            if not row.number.isdigit() or int(row.number) <= 5:
                out += lines[row.line : row.line + 3]
        out.append("```")
    return "\n".join(out) + "\n"


def check(results: list[tuple[Run, str, float]]) -> list[str]:
    """What is not as the page promises."""
    wrong = []
    for run, text, seconds in results:
        rows = {row.number: row.seconds for row in parse_rows(text)}
        if rows["1"] > run.bound * rows["="]:
            wrong.append(f"{run.name}: best plan {rows['1']:.3f} s, expected at most {run.bound} times "
                         f"{rows['=']:.3f} s")
        if seconds > 60:
            wrong.append(f"{run.name}: {seconds:.0f} s of processor time, expected at most 60")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=pathlib.Path, default=ROOT / "build" / "benchmark" / "mesh-search")
    parser.add_argument("--only", help="runs whose name contains this, printed as honec prints them")
    parser.add_argument("-o", dest="page", type=pathlib.Path, default=ROOT / "docs" / "benchmarks" / "mesh-search.md")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a bound does not hold")
    parser.add_argument("--compile", action="store_true", help="dry-run the best plans that compile; write nothing")
    parser.add_argument("--export", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.export:
        run = RUNS[int(arguments.export[0])]
        return export(run.make, run.length, pathlib.Path(arguments.export[1]), int(arguments.export[2]))
    arguments.packages.mkdir(parents=True, exist_ok=True)
    results, verdicts = [], []
    for run in RUNS:
        if arguments.only and arguments.only not in run.name:
            continue
        text, seconds = search(run, arguments.packages)
        results.append((run, text, seconds))
        if arguments.compile:
            verdicts.append(compile_best(run, text, arguments.packages))
            print(f"{run.name} on {run.ranks} {run.cluster.upper()}: {verdicts[-1]}", flush=True)
        elif arguments.only:
            print(text)
    if arguments.check and (wrong := check(results)):
        sys.exit("\n".join(wrong))
    if any("FAILED" in verdict for verdict in verdicts):
        sys.exit(1)
    if arguments.only or arguments.check or arguments.compile:
        return
    begin, end = "<!-- tables: mesh_search.py -->\n", "<!-- end of tables -->\n"
    page = arguments.page.read_text()
    head, rest = page.split(begin)
    arguments.page.write_text(f"{head}{begin}\n{tables(results)}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
