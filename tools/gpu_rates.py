"""Rates that a plan for FP8 products or for memory of the host builds on, measured with PyTorch on one GPU.

    python3 gpu_rates.py [RESULT.json [SECONDS]]      products end after so many seconds (default 60)

Products: bf16, and FP8 (E4M3) with one scale per tensor, with 1x128 by 128x128 blocks, and with 1x128 by 1x128 blocks,
for the shapes of GPT-2 and Llama layers, in TFLOP/s. Operands are random and rotate through more bytes than the L2
cache holds; candidates of a shape are timed in turns, and medians are kept. Copies: pinned memory to the device and
back, each alone, both at once, and beside products, in GB/s, with what the products lose.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import torch

# Tokens of a micro-batch, and columns and depth of each weight of a layer.
LAYERS = {"gpt2-124m": (65536, {"qkv": (2304, 768), "proj": (768, 768), "up": (3072, 768), "down": (768, 3072)}),
          "gpt2-1.5b": (16384, {"qkv": (4800, 1600), "proj": (1600, 1600), "up": (6400, 1600), "down": (1600, 6400)}),
          "llama-1b": (16384, {"qkv": (3072, 2048), "o": (2048, 2048), "gate-up": (16384, 2048), "down": (2048, 8192)}),
          "llama-8b": (8192, {"qkv": (6144, 4096), "o": (4096, 4096), "gate-up": (28672, 4096), "down": (4096, 14336)})}
ROUNDS = 5
ROTATED_BYTES = 256 << 20


def shapes():
    """(name, M, N, K) of the three products of each weight."""
    for model, (tokens, weights) in LAYERS.items():
        for weight, (columns, depth) in weights.items():
            yield f"{model} {weight}", tokens, columns, depth
            yield f"{model} {weight} input gradient", tokens, depth, columns
            yield f"{model} {weight} weight gradient", columns, depth, tokens


def scales(rows, depth, tile):
    """Scales of ones as the library wants them: tiles along rows vary fastest."""
    if tile == "tensor":
        return torch.ones((), device="cuda")
    high, blocks = (rows + 127) // 128 if tile == "block" else rows, (depth + 127) // 128
    if tile == "block":  # Contiguous along the depth, whose blocks are padded to four.
        padded = torch.ones(high, (blocks + 3) // 4 * 4, device="cuda")
        return padded[:, :blocks]
    return torch.ones(blocks, high, device="cuda").t()


def candidate(kind, m, n, k):
    """A call that multiplies the next pair of operands."""
    count = max(2, min(16, ROTATED_BYTES // ((m * k + n * k) * (2 if kind == "bf16" else 1)) + 1))
    pairs = [[torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (m, n)] for _ in range(count)]
    turn = [0]
    if kind == "bf16":
        def call():
            turn[0] += 1
            a, b = pairs[turn[0] % count]
            return a @ b.t()
        return call
    pairs = [(a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)) for a, b in pairs]
    left, right = {"tensor": ("tensor", "tensor"), "row x block": ("row", "block"), "row x row": ("row", "row")}[kind]
    scale_a, scale_b = scales(m, k, left), scales(n, k, right).t()

    def call():
        turn[0] += 1
        a, b = pairs[turn[0] % count]
        return torch._scaled_mm(a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16,
                                use_fast_accum=False)
    return call


def seconds_of(call, repeats):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / repeats


def products(seconds):
    rows, stop = {}, time.time() + seconds
    for name, m, n, k in shapes():
        if time.time() > stop:
            break
        calls, row = {}, {"shape": [m, n, k]}
        for kind in ("bf16", "tensor", "row x block", "row x row"):
            try:
                call = candidate(kind, m, n, k)
                call()
                torch.cuda.synchronize()
                calls[kind] = call
            except (RuntimeError, ValueError, TypeError) as error:
                row[kind] = str(error).splitlines()[0][:160]
        repeats = max(3, int(0.01 / (2.0 * m * n * k / 700e12)))
        samples = {kind: [] for kind in calls}
        for _ in range(ROUNDS):
            for kind, call in calls.items():
                samples[kind].append(seconds_of(call, repeats))
        for kind, times in samples.items():
            row[kind] = round(2.0 * m * n * k / statistics.median(times) / 1e12, 1)
        rows[name] = row
        del calls
        torch.cuda.empty_cache()
    return rows


def copies():
    size = 256 << 20
    host = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    device = [torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in range(2)]
    a, b = (torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def run(up, down, work, count=8):
        """Seconds of copies each way, and of products beside them."""
        torch.cuda.synchronize()
        events = {}
        for name, wanted, stream in (("up", up, streams[0]), ("down", down, streams[1])):
            if wanted:
                with torch.cuda.stream(stream):
                    pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                    pair[0].record()
                    for _ in range(count):
                        if name == "up":
                            device[0].copy_(host[0], non_blocking=True)
                        else:
                            host[1].copy_(device[1], non_blocking=True)
                    pair[1].record()
                    events[name] = pair
        if work:
            pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            pair[0].record()
            for _ in range(40):
                a @ b.t()
            pair[1].record()
            events["products"] = pair
        torch.cuda.synchronize()
        seconds = {name: pair[0].elapsed_time(pair[1]) / 1e3 for name, pair in events.items()}
        return {name: round(2 * 8192 * 8192 * 4096 * 40 / t / 1e12 if name == "products" else count * size / t / 1e9, 1)
                for name, t in seconds.items()}

    cases = {"up": (True, False, False), "down": (False, True, False), "both": (True, True, False),
             "products": (False, False, True), "both beside products": (True, True, True)}
    rows = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            rows[name].append(run(*case))
    return {name: {key: statistics.median(row[key] for row in samples) for key in samples[0]}
            for name, samples in rows.items()}


def main():
    properties = torch.cuda.get_device_properties(0)
    result = {"device": properties.name, "torch": torch.__version__, "copies": copies(),
              "products": products(float(sys.argv[2]) if len(sys.argv) > 2 else 60)}
    text = json.dumps(result, indent=1)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
