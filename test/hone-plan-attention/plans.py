"""Asks hone-plan-attention about the attention of common models and compares workspaces with those of cuDNN 9.19.0."""

import json
import subprocess
import sys

# Batch, query heads, key heads, positions, width of GPT-2 124M, and of Llama 3 8B.
GPT2 = dict(batch=4, heads=12, groups=12, positions=1024, width=64)
LLAMA = dict(batch=1, heads=32, groups=8, positions=4096, width=128)
DROPOUT = dict(dropout=0.1)
DETERMINISTIC = dict(deterministic=1)
# A run of the queries of a rank among eight, which begins at a position.
RUN = dict(batch=1, heads=16, groups=4, positions=512, keys=8192, width=128, causal="lengths")
MIB = 1 << 20

# Bytes for sm_80, sm_90 and sm_100, or why there is no plan. Backward: fp32 sums per query (192 KiB for GPT-2), the fp32
# gradient of the query (12 MiB) unless deterministic, and the library's own.
BOTH = "refused a deterministic backward pass has dropout, cuDNN takes one or the other on sm_100"
BEGIN = "refused there is dropout and queries begin at a position, cuDNN takes one or the other"
CASES = [
    ("forward", GPT2, (0, 256, 0)),
    ("backward", GPT2, (24 * MIB + 196608 + 256, 12 * MIB + 196608 + 256, 12 * MIB + 196608)),
    ("forward", LLAMA, (0, 256, 0)),
    ("backward", LLAMA, (192 * MIB + 524288 + 256, 128 * MIB + 524288 + 256, 128 * MIB + 524288 + 256)),
    ("forward", GPT2 | DROPOUT, (0, 256, 6 * MIB + 256)),
    ("backward", GPT2 | DROPOUT, (24 * MIB + 196608 + 256, 12 * MIB + 196608 + 256, 18 * MIB + 196608 + 256)),
    ("backward", GPT2 | DETERMINISTIC, (96 * MIB + 196608 + 256, 96 * MIB + 196608 + 256, 196608)),
    ("backward", GPT2 | DETERMINISTIC | DROPOUT, (96 * MIB + 196608 + 256, 96 * MIB + 196608 + 256, BOTH)),
    ("backward", GPT2 | dict(dtype="f16", positions=1000, width=80, causal=0), (None, None, None)),
    ("forward", RUN, (0, 256, 0)),
    ("backward", RUN, (72 * MIB + 32768 + 256, 68 * MIB + 32768 + 256, 68 * MIB + 32768 + 256)),
    ("backward", RUN | DETERMINISTIC, (192 * MIB + 32768 + 256, 192 * MIB + 32768 + 256, 128 * MIB + 32768 + 256)),
    ("forward", RUN | DROPOUT, (BEGIN, BEGIN, BEGIN)),
]


def problem(direction, batch, heads, groups, positions, width, dtype="bf16", causal=1, dropout=0, deterministic=0,
            keys=None):
    """The line of one problem, its queries, keys and values packed, unless there are `keys` of their own."""
    row = (heads if keys else heads + 2 * groups) * width
    packed = f"{positions * row},{row},{width}"
    length = keys or positions
    key = f"{keys * groups * width},{groups * width},{width}" if keys else packed
    result = f"{positions * heads * width},{heads * width},{width}"
    line = (f"{direction} {dtype} batch {batch} heads {heads} {groups} positions {positions} {length} width {width} "
            f"{width} scale {width ** -0.5:.17g} causal {causal} dropout {dropout:.17g} deterministic {deterministic} "
            f"query {packed} key {key} value {key} result {result}")
    if direction == "backward":
        line += f" result_grad {result} query_grad {packed} key_grad {key} value_grad {key}"
    return line


def operations(direction, heads, groups, causal=1, dropout=0, deterministic=0, **_):
    """How many operations our graph has: each option adds or removes some."""
    mask = 12 if causal == "lengths" else 4 * causal
    if direction == "forward":
        return 10 + mask + (3 if dropout else 0)
    return 18 + mask + (5 if dropout else 0) + (2 if groups != heads else 0) - deterministic


def check(case, seen, wanted, nodes, is_same_version):
    """Prints what is wrong with an answer."""
    if isinstance(wanted, str):
        if seen != wanted:
            print(f"{case}: saw '{seen}', expected '{wanted}'")
        return
    words = seen.split(" ", 2)
    if words[0] != "plan":
        print(f"{case}: saw '{seen}', expected a plan")
        return
    with open(words[2]) as file:
        graph = json.load(file)["operationGraph"]
    if len(graph["nodes"]) != nodes:
        print(f"{case}: saw {len(graph['nodes'])} operations, expected {nodes}")
    # Another version may need a little more or less of its own.
    bytes, tolerance = int(words[1]), 0 if is_same_version else MIB
    if wanted is not None and abs(bytes - wanted) > tolerance:
        print(f"{case}: saw {bytes} bytes, expected {wanted}")


def main(folder):
    problems = "".join(problem(direction, **sizes) + "\n" for direction, sizes, _ in CASES)
    for index, arch in enumerate(("sm_80", "sm_90", "sm_100")):
        command = ["hone-plan-attention", f"--arch={arch}", f"--out={folder}"]
        lines = subprocess.run(command, input=problems, capture_output=True, text=True, check=True).stdout.splitlines()
        version = lines[0].removeprefix("cudnn ")
        for (direction, sizes, wanted), seen in zip(CASES, lines[1:], strict=True):
            check(f"{arch} {direction} {sizes}", seen, wanted[index],
                  operations(direction, **sizes), version == "9.19.0")
    print(f"plans of cuDNN {version} for sm_80, sm_90 and sm_100")


if __name__ == "__main__":
    main(sys.argv[1])
