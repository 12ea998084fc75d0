#!/usr/bin/env python3
"""Writes README.md of a folder of GPU results: what has run on hardware, what it showed, and what has not.

    gpu_page.py docs/benchmarks/gpu            from the *.json there, results of gpu-check.sh
    gpu_page.py docs/benchmarks/gpu --check    compares instead; exit code 1 where the page is not theirs
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys

import gpu_cases
import gpu_host
import gpu_run

HEAD = """# GPU: what has run on hardware

Made by `tools/gpu_page.py` from the results in this folder. `tools/gpu-check.sh pack FOLDER` packs the cases, on any
host. `FOLDER/gpu-check.sh run` runs them on a host with a GPU within 8 minutes (the next run continues where one ended)
and writes one JSON file. The latest results come first. `tools/gpu_rates.py` measures what FP8 and host memory would
give; its results are in `rates/`.
"""

NOTHING = """
**Nothing has run on a GPU yet**: none was at hand. docs/rationale/cuda-target.md describes what was tested without one.
The figures of `honec --dry-run --arch` are estimates from published rates (docs/rationale/device-estimate.md).
"""

ONE_GPU = """
Cases marked "one GPU" are of two or four ranks that share it. NCCL refuses that, so `tools/one_gpu_nccl.cu` stands for
it: the programs, their graphs and streams, cuBLASLt and cuDNN are those of several GPUs, what passes between ranks is
not. Of curves (300 steps of prose) the means of the last 30 losses are compared.
"""

RATES = """
Tokens per second of whole training steps (AdamW, clipping at 1), in brackets Hone's over the peer's: above 1, Hone is
faster. Peak memory is what a program allocated: of Hone arena and workspaces, of PyTorch and JAX their allocator's
peak. PyTorch: eager, or torch.compile in a mode, with fused attention and AdamW, padded vocabulary, bf16 autocast;
JAX: one jitted step, cuDNN attention, donated state; llm.c: nothing computed twice, memory of the whole device;
torchao: a recipe of fp8 training under torch.compile, the head in bf16. "Expected" is what `honec --dry-run` says.
"""

ESTIMATES = """
What `honec --dry-run` expected of a step when it was packed, by family of kernels, and what the kernels took.
"""

PRODUCTS = """
Products in TFLOP/s: bf16, and FP8 (E4M3, scales of ones, without fast accumulation) with a scale per tensor, with 1x128
by 128x128 blocks, and with 1x128 by 1x128. Medians of five rounds in turns, with random operands; the ratio is to bf16.
A dash is a shape whose scales PyTorch refuses.
"""

KERNELS = """
Kernels by family, op and place in the model, from `--profile`. Bytes are the least that a group of ops must read and
write. The rate of a copy on the device is the most that memory gives.
"""


def gib(count: int | None) -> str:
    return f"{count / 2**30:.1f}" if count else "-"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *rows]]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines) + "\n"


def why_not(outcome: dict | None) -> str:
    """Why a task has no figures."""
    if outcome is None:
        return "not run"
    return "failed: " + outcome["error"].replace("|", "/") if "error" in outcome else outcome["skipped"]


def loss_rows(cases: dict[str, dict]) -> list[list[str]]:
    rows = []
    marks = {True: "yes", False: "**no**", None: ""}
    for name, case in cases.items():
        for task, against in (("losses", "the CPU target"), ("torch losses", "PyTorch")):
            outcome = case.get(task)
            shown = name + (" (one GPU)" if outcome and outcome.get("shared_gpu") else "")
            if not gpu_run.is_done(outcome):
                if task == "losses" and case["kind"] == "check" or outcome is not None and "skipped" not in outcome:
                    rows.append([shown, case["precision"], against, why_not(outcome), "", "", ""])
                continue
            worst = f"{outcome['worst']:.1e}" + ("" if outcome["worst"] <= outcome["bound"] else " **too far**")
            launches = marks[case.get("launches", {}).get("ok")] if task == "losses" else ""
            rows.append([shown, case["precision"], against, worst, f"{outcome['bound']:.0e}",
                         marks[outcome.get("repeats")], launches])
    return rows


def peer_rows(cases: dict[str, dict]) -> list[list[str]]:
    """Of each peer that was asked: rate with ratio, milliseconds, memory."""
    rows = []
    for name, case in cases.items():
        for task in (gpu_run.BRANCHES, *gpu_run.PEERS):
            peer = case.get(task)
            if gpu_run.is_done(peer) and gpu_run.is_done(case.get("rate")):
                ratio = peer["ms"] / peer.get("ours_ms", case["rate"]["ms"])
                rows.append([name, task, f"{peer['tokens_per_second']:,.0f} (**{ratio:.2f}**)", f"{peer['ms']:.1f}",
                             gib(peer.get("peak_bytes"))])
            elif peer is not None and "skipped" not in peer:
                rows.append([name, task, why_not(peer), "", ""])
    return rows


def rate_rows(cases: dict[str, dict]) -> list[list[str]]:
    rows = []
    for name, case in cases.items():
        if case["kind"] != "rate":
            continue
        row = [name, gpu_cases.CASES[name].batch_text, case["precision"]]
        ours = case.get("rate")
        if not gpu_run.is_done(ours):
            rows.append(row + [why_not(ours)] + [""] * 5)
            continue
        mfu = f"{100 * ours['mfu']:.1f} %" if ours.get("mfu") else "-"
        expected = f"{case['expected_ms']:.1f}" if case.get("expected_ms") else "-"
        rows.append(row + [f"{ours['tokens_per_second']:,.0f}", f"{ours['ms']:.1f}", expected, mfu,
                           gib(ours["peak_bytes"]), gib(ours.get("host_bytes"))])
    return rows


def kernel_rows(profile: dict, copy: float | None) -> list[list[str]]:
    total = sum(row["ms"] for row in profile["kernels"])
    rows = []
    for row in profile["kernels"]:
        gb, tflops = row["gb_per_s"], row["tflops"]
        rows.append([row["kind"], str(row["launches"]), f"{row['ms']:.2f}",
                     f"{100 * row['ms'] / total:.1f} %" if total else "-",
                     f"{gb:.0f}" if gb else "-", f"{100 * gb / copy:.0f} %" if gb and copy else "-",
                     f"{tflops:.1f}" if tflops else "-", {True: "yes", False: "no", None: "-"}[row["tensor_cores"]]])
    return rows


def estimate_rows(cases: dict[str, dict]) -> list[list[str]]:
    """Expected and measured milliseconds of each family that takes a hundredth of the step or more."""
    rows = []
    for name, case in cases.items():
        if not case.get("estimate") or not gpu_run.is_done(case.get("kernels")):
            continue
        measured = collections.Counter()
        for row in case["kernels"]["kernels"]:
            measured[row["kind"].split(":")[0]] += row["ms"]
        whole = sum(measured.values())
        for family, ms in measured.most_common():
            expected = case["estimate"].get(family, 0.0)
            if max(ms, expected) >= whole / 100:
                ratio = f"{ms / expected:.2f}" if expected else "-"
                rows.append([name, family, f"{expected:.2f}", f"{ms:.2f}", ratio])
        total = sum(case["estimate"].values())
        rows.append([name, "all", f"{total:.2f}", f"{whole:.2f}", f"{whole / total:.2f}"])
    return rows


def product_rows(products: dict[str, dict]) -> list[list[str]]:
    rows = []
    for name, row in products.items():
        cells = [name, " x ".join(map(str, row["shape"])), f"{row['bf16']:.0f}"]
        for kind in ("tensor", "row x block", "row x row"):
            rate = row[kind]
            cells.append(f"{rate:.0f} ({rate / row['bf16']:.2f})" if isinstance(rate, float) else "-")
        rows.append(cells)
    return rows


def rates_section(name: str, rates: dict) -> str:
    """What gpu_rates.py measured."""
    text = f"\n## Rates of an {rates['device']}\n\n"
    text += f"`rates/{name}`, by PyTorch {rates['torch']}. Copies between pinned memory and the GPU:\n\n"
    kinds = ("up", "down", "products")
    text += table(["at once", "to the GPU, GB/s", "to the host, GB/s", "products, TFLOP/s"],
                  [[case, *(f"{row[kind]:.1f}" if kind in row else "-" for kind in kinds)]
                   for case, row in rates["copies"].items()])
    return text + PRODUCTS + "\n" + table(["product", "M x N x K", "bf16", "tensor", "row x block", "row x row"],
                                          product_rows(rates["products"]))


def hardware_section(name: str, report: dict, latest: dict[str, str]) -> str:
    """Kernels are told of the cases whose `latest` result this is."""
    host, cases = report["host"], report["cases"]
    text = f"\n## {host['gpu']}, {host['date']}\n\n"
    facts = [f"driver {host['driver']}", host["memory"], f"power limit {host.get('power limit') or 'unknown'}"]
    facts += [f"{peer} {host[peer] or 'absent'}" for peer in gpu_host.PEERS if peer in host]
    done = [case for case in cases.values() if gpu_run.is_done(case.get("kernels"))]
    libraries = sorted({case["kernels"]["libraries"] for case in done})
    text += f"`{name}`: " + ", ".join(facts + libraries)
    text += ".\n\nLosses of ten steps; \"repeats\": a second run has equal bits; \"launches\": each\nwrites "
    text += "what the host computes (`--compare-launches`).\n"
    if any(case.get("losses", {}).get("shared_gpu") for case in cases.values()):
        text += ONE_GPU
    text += "\n"
    head = ["case", "precision", "against", "largest difference", "bound", "repeats", "launches"]
    text += table(head, loss_rows(cases))
    if rows := rate_rows(cases):
        head = ["case", "batch", "precision", "Hone", "ms", "expected ms", "MFU", "GiB", "pinned GiB"]
        text += RATES + "\n" + table(head, rows)
    if rows := peer_rows(cases):
        text += "\n" + table(["case", "peer", "tokens/s", "ms", "GiB"], rows)
    if "ok" in (nccl := report.get("nccl", {})):
        works = ", ".join(nccl["works"][1:]) if nccl["ok"] else why_not(nccl)
        text += f"\nNCCL as the only rank: {works}.\n"
    if rows := estimate_rows(cases):
        text += ESTIMATES + "\n" + table(["case", "family", "expected ms", "measured ms", "ratio"], rows)
    copy = report.get("copy", {}).get("gb_per_s")
    shown = [case for case in cases if latest.get(case) == name]
    text += KERNELS if shown else ""
    for case in shown:
        text += f"\n{case}; a copy reaches {f'{copy:.0f} GB/s' if copy else 'an unknown rate'}:\n\n"
        text += table(["kernels", "launches", "ms", "of the step", "GB/s", "of a copy", "TFLOP/s", "tensor cores"],
                      kernel_rows(cases[case]["kernels"], copy))
    return text


def not_run(reports: dict[str, dict]) -> str:
    """Cases whose first task no result on hardware has."""
    done = set()
    for report in reports.values():
        for name, case in report["cases"].items():
            if gpu_run.is_done(case.get("losses" if case["kind"] == "check" else "rate")):
                done.add(name)
    left = [name for name in gpu_cases.CASES if name not in done]
    lines = []
    if not any(report.get("nccl", {}).get("ok") for report in reports.values()):
        calls = "NCCL's calls as the only rank: join, split, register, send, replay a graph"
        lines.append(["hone-probe-nccl", "-", "fp32", calls])
    if not left and not lines:
        return ""
    for name in left:
        case = gpu_cases.CASES[name]
        shows = "rate, memory, kernels" + (", beside the peers" if case.has_peers else "")
        if case.kind == "check":
            shows = "losses against the CPU target"
        lines.append([name, case.batch_text, case.precision, shows])
    head = ["case", "batch", "precision", "what it is to show"]
    return "\n## What has no result on hardware\n\n" + table(head, lines)


def page(folder: pathlib.Path) -> str:
    """The text. Emulated results are no results on hardware: a page of them is an error."""
    reports = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    reports = dict(sorted(reports.items(), key=lambda each: each[1]["host"].get("date", "")))
    for name, report in reports.items():
        if not report["host"]["gpu"] or any(case["emulated"] for case in report["cases"].values()):
            raise ValueError(f"{folder / name}: was made without a GPU, expected results of hardware")
    latest = {case: name for name, report in reports.items() for case, facts in report["cases"].items()
              if gpu_run.is_done(facts.get("kernels"))}
    text = HEAD + ("" if reports else NOTHING)
    for name, report in reversed(reports.items()):
        text += hardware_section(name, report, latest)
    for path in sorted((folder / "rates").glob("*.json")):
        text += rates_section(path.name, json.loads(path.read_text()))
    return text + not_run(reports)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    target = arguments.folder / "README.md"
    try:
        text = page(arguments.folder)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not arguments.check:
        target.write_text(text)
    elif not target.exists() or target.read_text() != text:
        print(f"error: {target}: is not that of the results beside it, expected the output of tools/gpu_page.py",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
